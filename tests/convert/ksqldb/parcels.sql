-- Parcels as the scanners of a depot see them.
CREATE STREAM scans (
  parcel_id VARCHAR KEY,
  depot VARCHAR,
  weight_g INT,
  scanned_at TIMESTAMP
) WITH (KAFKA_TOPIC = 'depot.scans', VALUE_FORMAT = 'JSON', PARTITIONS = 6, TIMESTAMP = 'scanned_at');

CREATE TABLE scans_per_hour AS
  SELECT depot, COUNT(*) AS scans, SUM(weight_g) AS grams, WINDOWSTART AS hour_start
  FROM scans
  WINDOW TUMBLING (SIZE 1 HOUR, RETENTION 7 DAYS, GRACE PERIOD 10 MINUTES)
  GROUP BY depot
  EMIT CHANGES;
