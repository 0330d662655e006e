-- Note: connector 'datagen' has no counterpart. Leave it out, and make events up with `headwater generate STREAM`.
-- Note: 'rows-per-second' = '10' was left out. There is no such option here.

CREATE STREAM steps (
  walker STRING,
  height DOUBLE,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
);

-- Note: 'rows-per-second' = '10' was left out. There is no such option here.

CREATE STREAM old_steps (
  walker STRING,
  height DOUBLE,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
)
WITH (connector = 'folder', path = '/srv/steps', format = 'parquet');

CREATE VIEW climbs AS
SELECT
  *
FROM steps
MATCH_RECOGNIZE (
  PARTITION BY walker
  ORDER BY
    at
  MEASURES FIRST(U.at) AS from_at, LAST(U.at) AS to_at, LAST(U.height) AS top
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (S U+ D)
  WITHIN INTERVAL '1' HOUR
  DEFINE U AS U.height > S.height, D AS D.height < LAST(U.height)
);

-- Not carried over: Ask `headwater status`, or `headwater graph`.
-- SHOW TABLES

-- Not carried over: Edit the declaration; a run takes it over with `headwater promote`.
-- ALTER TABLE steps SET ('rows-per-second' = '5')

-- headwater check: ok
