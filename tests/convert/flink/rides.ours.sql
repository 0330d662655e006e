-- Note: part takes 'partition' of a message: the log keeps where an event came from: write _source, _commit or _row
--   in a query.
-- Note: 'scan.parallelism' = '4' was left out. There is no such option here.

-- what riders pay
CREATE STREAM rides_events (
  ride_id STRING,
  city STRING,
  fare DECIMAL(8, 2),
  seats INT,
  tags ARRAY<STRING>,
  ended_at TIMESTAMP,
  kafka_ts TIMESTAMP,
  WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND
)
WITH (connector = 'kafka', topic = 'rides', brokers = 'k:9092', message_time = 'kafka_ts');

CREATE VIEW rides AS
SELECT
  *,
  fare * 0.1 AS tip,
  _arrived_at AS proc
FROM rides_events;

CREATE MATERIALIZED VIEW city_fares
WITH (emit = 'final') AS
SELECT
  city,
  window_start AS at,
  SUM(fare) AS total
FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '1' MINUTE)
GROUP BY
  city,
  window_start,
  window_end;

CREATE OUTLET city_fares_out FROM city_fares TO 'kafka://fares'
WITH (envelope = 'upsert', brokers = 'k:9092');

-- Note: It was written to 'print'; its changes show with `headwater watch out2`.
-- Note: It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go.

CREATE MATERIALIZED VIEW out2
WITH (retention = 'forever') AS
SELECT
  city,
  COUNT(*) AS n
FROM rides
GROUP BY
  city;

-- Note: seats / 2 keeps its fraction here: where both are whole numbers, write seats DIV 2 for a whole number.

CREATE VIEW seats AS
SELECT
  ride_id,
  TRY_ELEMENT_AT(tags, 1) AS first_tag,
  seats / 2 AS half,
  proc
FROM rides;

-- Not carried over: Leave it out: a project is one catalog, its folder.
-- CREATE CATALOG c WITH ('type'='hive')

-- Not carried over: Put settings into headwater.toml.
-- SET 'parallelism.default' = '2'

-- headwater check: ok
