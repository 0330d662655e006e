CREATE STREAM readings (
  sensor STRING,
  celsius DOUBLE,
  body STRING,
  read_at TIMESTAMP,
  WATERMARK FOR read_at AS read_at - INTERVAL '1' MILLISECOND
)
WITH (key = 'sensor', connector = 'kafka', topic = 'readings', message_key = 'sensor');

-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET newest_out FROM newest TO
--   'kafka://NEWEST'.
-- Note: It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go.

-- The newest reading of each sensor.
CREATE MATERIALIZED VIEW newest
WITH (retention = 'forever') AS
SELECT
  sensor,
  LAST(celsius) AS celsius,
  COUNT(DISTINCT GET_JSON_OBJECT(body, '$.firmware')) AS firmwares
FROM readings
GROUP BY
  sensor;

-- headwater check: ok
