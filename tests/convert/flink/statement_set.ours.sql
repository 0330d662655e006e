CREATE STREAM alarms (
  device STRING,
  level INT,
  raised_at TIMESTAMP,
  WATERMARK FOR raised_at AS raised_at - INTERVAL '2' SECOND
)
WITH (idle = '1 minute', connector = 'kafka', topic = '^alarms-.*', start = '2026-01-01T00:00:00+00:00');

CREATE MATERIALIZED VIEW pages AS
SELECT
  device,
  level
FROM alarms
WHERE
  level >= 8
UNION ALL
SELECT
  device,
  level * 10 AS level
FROM alarms
WHERE
  level = 7;

CREATE OUTLET pages_out FROM pages TO 'kafka://pages'
WITH (envelope = 'row');

-- headwater check: ok
