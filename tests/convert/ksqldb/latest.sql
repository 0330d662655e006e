CREATE STREAM readings (sensor VARCHAR KEY, celsius DOUBLE, body VARCHAR, read_at TIMESTAMP)
  WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', TIMESTAMP = 'read_at');
-- The newest reading of each sensor.
CREATE TABLE newest AS
  SELECT sensor, LATEST_BY_OFFSET(celsius) AS celsius, COUNT_DISTINCT(EXTRACTJSONFIELD(body, '$.firmware')) AS firmwares
  FROM readings
  GROUP BY sensor
  EMIT CHANGES;
