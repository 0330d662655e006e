CREATE STREAM parcels (parcel_id VARCHAR KEY, weight DOUBLE, address STRUCT<city VARCHAR, zip VARCHAR>)
  WITH (KAFKA_TOPIC = 'parcels', VALUE_FORMAT = 'AVRO');

CREATE STREAM heavy WITH (KAFKA_TOPIC = 'parcels.heavy', VALUE_FORMAT = 'JSON') AS
  SELECT parcel_id, UCASE(address->city) AS city, weight
  FROM parcels
  WHERE weight > 20.0
  PARTITION BY parcel_id
  EMIT CHANGES;
