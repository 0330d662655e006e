CREATE STREAM votes (
  id STRING,
  choice STRING,
  tags ARRAY<STRING>,
  cast_at TIMESTAMP
)
WITH (connector = 'folder', path = '/data/votes', format = 'avro');

CREATE VIEW first_tags AS
SELECT
  id,
  tags[0] AS first_tag,
  SIZE(tags) / 2 AS half
FROM votes;

-- Note: PARTITIONED BY was left out: a store finds rows by the view's key, and by index = '…'.

CREATE MATERIALIZED VIEW choices AS
SELECT
  choice,
  COUNT(DISTINCT id) AS votes
FROM votes
GROUP BY
  choice;

-- headwater check: ok
-- held-for-ever ours.sql:18:1: view "choices" holds every row of stream "votes" for ever, which declares no watermark
