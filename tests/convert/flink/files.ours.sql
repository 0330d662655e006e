-- Note: delimiter = ';' was left out: there is no such option with connector 'folder'.

CREATE STREAM meters (
  meter STRING,
  kwh DOUBLE,
  read_at TIMESTAMP,
  WATERMARK FOR read_at AS read_at
)
WITH (connector = 'folder', path = '/srv/meters', format = 'csv', poll = '10 seconds');

-- Note: Files are written as a table of Delta Lake here: CREATE OUTLET daily_out FROM daily TO
--   'delta://s3://lake/daily'.

CREATE MATERIALIZED VIEW daily
WITH (emit = 'final') AS
SELECT
  meter,
  window_start AS day_start,
  SUM(kwh) AS kwh
FROM CUMULATE(TABLE meters, DESCRIPTOR(read_at), INTERVAL '1' HOUR, INTERVAL '1' DAY)
GROUP BY
  meter,
  window_start,
  window_end;

-- headwater check: ok
-- approximate-value ours.sql:19:3: view "daily" aggregates with "sum", whose value may differ between executions
