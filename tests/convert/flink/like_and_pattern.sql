CREATE TABLE steps (walker STRING, height DOUBLE, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH ('connector' = 'datagen', 'rows-per-second' = '10');
CREATE TABLE old_steps WITH ('connector' = 'filesystem', 'path' = '/srv/steps', 'format' = 'parquet') LIKE steps (EXCLUDING OPTIONS);
CREATE VIEW climbs AS
SELECT * FROM steps MATCH_RECOGNIZE (
  PARTITION BY walker ORDER BY at
  MEASURES FIRST(U.at) AS from_at, LAST(U.at) AS to_at, LAST(U.height) AS top
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (S U+ D) WITHIN INTERVAL '1' HOUR
  DEFINE U AS U.height > S.height, D AS D.height < LAST(U.height));
SHOW TABLES;
ALTER TABLE steps SET ('rows-per-second' = '5');
