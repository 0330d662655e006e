-- Parcels as the scanners of a depot see them.
CREATE STREAM scans (
  parcel_id STRING,
  depot STRING,
  weight_g INT,
  scanned_at TIMESTAMP,
  WATERMARK FOR scanned_at AS scanned_at - INTERVAL '1' MILLISECOND
)
WITH (key = 'parcel_id', connector = 'kafka', topic = 'depot.scans', message_key = 'parcel_id');

-- Note: RETENTION of the window was left out: rows of a view stay.
-- Note: WINDOWSTART, WINDOWEND and ROWTIME are instants here, in ksqlDB milliseconds: unix_millis(…) counts them.
-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET scans_per_hour_out FROM
--   scans_per_hour TO 'kafka://SCANS_PER_HOUR'.

CREATE MATERIALIZED VIEW scans_per_hour
WITH (grace = '10 minutes') AS
SELECT
  depot,
  COUNT(*) AS scans,
  SUM(weight_g) AS grams,
  window_start AS hour_start
FROM TUMBLE(TABLE scans, DESCRIPTOR(scanned_at), INTERVAL '1' HOUR) AS scans
GROUP BY
  depot,
  window_start,
  window_end;

-- headwater check: ok
