-- Note: opened_at is read from the field opened, in ISO 8601.

-- Written before there were window table functions.
CREATE STREAM tickets (
  ticket STRING,
  queue STRING,
  opened_at TIMESTAMP ALIAS (opened),
  WATERMARK FOR opened_at AS opened_at - INTERVAL '30' SECOND
)
WITH (connector = 'kafka', topic = 'tickets', start = 'latest');

CREATE VIEW tickets_per_hour AS
SELECT
  queue,
  window_start AS hour_start,
  COUNT(*) AS tickets
FROM TUMBLE(TABLE tickets, DESCRIPTOR(opened_at), INTERVAL '1' HOUR) AS tickets
GROUP BY
  queue,
  window_start,
  window_end;

-- headwater check: ok
