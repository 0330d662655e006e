CREATE STREAM pings (
  host STRING,
  ms INT,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '1' HOUR
)
WITH (connector = 'folder', path = '/data/pings', pattern = '*.jsonl', format = 'json');

CREATE MATERIALIZED VIEW per_minute AS
SELECT
  host,
  window_start AS minute,
  AVG(ms) AS ms
FROM TUMBLE(TABLE pings, DESCRIPTOR(at), INTERVAL '1' MINUTE) AS pings
GROUP BY
  host,
  window_start,
  window_end;

CREATE MATERIALIZED VIEW per_day AS
SELECT
  host,
  window_start AS day,
  MAX(ms) AS ms
FROM TUMBLE(TABLE pings, DESCRIPTOR(at), INTERVAL '1' DAY) AS pings
GROUP BY
  host,
  window_start,
  window_end;

-- headwater check: ok
