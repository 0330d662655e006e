-- Trips of rented bicycles.
CREATE STREAM trips (
  bike STRING,
  station STRING,
  km DOUBLE,
  ended_at TIMESTAMP,
  WATERMARK FOR ended_at AS ended_at - INTERVAL '10' MINUTE
)
WITH (connector = 'folder', path = '/data/trips', format = 'json');

CREATE MATERIALIZED VIEW trips_per_hour AS
SELECT
  station,
  window_start AS hour_start,
  COUNT(*) AS trips
FROM TUMBLE(TABLE trips, DESCRIPTOR(ended_at), INTERVAL '1' HOUR) AS trips
GROUP BY
  station,
  window_start,
  window_end;

-- headwater check: ok
