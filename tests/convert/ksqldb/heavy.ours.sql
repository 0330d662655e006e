CREATE STREAM parcels (
  parcel_id STRING,
  weight DOUBLE,
  address STRUCT<city: STRING, zip: STRING>,
  rowtime TIMESTAMP,
  WATERMARK FOR rowtime AS rowtime - INTERVAL '1' MILLISECOND
)
WITH (key = 'parcel_id', connector = 'kafka', topic = 'parcels', format = 'avro', message_key = 'parcel_id', message_time = 'rowtime');

-- Note: PARTITION BY parcel_id was left out: rows of a view are not partitioned; messages of an outlet are keyed by
--   key = '…'.

CREATE MATERIALIZED VIEW heavy AS
SELECT
  parcel_id,
  UPPER(address.city) AS city,
  weight
FROM parcels
WHERE
  weight > 20.0;

CREATE OUTLET heavy_out FROM heavy TO 'kafka://parcels.heavy'
WITH (envelope = 'row');

-- headwater check: ok
