-- Not carried over: Put settings into headwater.toml.
-- SET 'auto.offset.reset' = 'earliest'

CREATE STREAM north (
  id STRING,
  units INT,
  tags ARRAY<STRING>,
  rowtime TIMESTAMP,
  WATERMARK FOR rowtime AS rowtime - INTERVAL '1' MILLISECOND
)
WITH (key = 'id', connector = 'kafka', topic = 'north', message_key = 'id', message_time = 'rowtime');

CREATE STREAM south (
  id STRING,
  units INT,
  tags ARRAY<STRING>,
  rowtime TIMESTAMP,
  WATERMARK FOR rowtime AS rowtime - INTERVAL '1' MILLISECOND
)
WITH (key = 'id', connector = 'kafka', topic = 'south', message_key = 'id', message_time = 'rowtime');

-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET everywhere_out FROM everywhere TO
--   'kafka://EVERYWHERE'.

CREATE MATERIALIZED VIEW everywhere AS
SELECT
  id,
  units,
  TRY_ELEMENT_AT(tags, 1) AS first_tag,
  'north' AS region
FROM north
UNION ALL
SELECT
  id,
  units,
  TRY_ELEMENT_AT(tags, 1) AS first_tag,
  'south' AS region
FROM south;

-- Not carried over: Rows are appended as events: headwater append north FILE.
-- INSERT INTO north (id, units) VALUES ('n-1', 3)

-- headwater check: ok
