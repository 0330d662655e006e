-- Note: opened_at is an instant here, read from text in ISO 8601 (it was yyyy-MM-dd HH:mm:ss).

CREATE STREAM doors (
  door STRING,
  opened_at TIMESTAMP,
  seconds INT,
  WATERMARK FOR opened_at AS opened_at - INTERVAL '1' MILLISECOND
)
WITH (key = 'door', connector = 'kafka', topic = 'doors', message_key = 'door');

-- Note: A window takes rows for a day after its end in ksqlDB, where nothing else is said: grace = '1 day' is that.
-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET doors_open_out FROM doors_open TO
--   'kafka://DOORS_OPEN'.

CREATE MATERIALIZED VIEW doors_open
WITH (grace = '1 day', emit = 'final') AS
SELECT
  door,
  SUM(seconds) AS open_for,
  AVG(seconds) AS mean,
  window_start,
  window_end
FROM HOP(TABLE doors, DESCRIPTOR(opened_at), INTERVAL '10' MINUTE, INTERVAL '30' MINUTE) AS doors
WHERE
  seconds > 0
GROUP BY
  door,
  window_start,
  window_end
HAVING
  COUNT(*) > 2;

-- headwater check: ok
