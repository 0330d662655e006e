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
-- Note: It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go.

CREATE MATERIALIZED VIEW choices
WITH (retention = 'forever') AS
SELECT
  choice,
  COUNT(DISTINCT id) AS votes
FROM votes
GROUP BY
  choice;

-- headwater check: ok
