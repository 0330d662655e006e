-- Note: delimiter = ';' was left out: there is no such option with connector 'folder'.

CREATE STREAM loads (
  host STRING,
  `load` DOUBLE,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '2' MINUTE
)
WITH (connector = 'folder', path = '/var/loads', format = 'csv');

CREATE MATERIALIZED VIEW loads_now AS
SELECT
  host,
  window_end AS until,
  MAX(`load`) AS most
FROM HOP(TABLE loads, DESCRIPTOR(at), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE) AS loads
GROUP BY
  host,
  window_start,
  window_end;

-- headwater check: ok
