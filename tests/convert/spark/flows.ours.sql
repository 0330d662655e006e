CREATE STREAM web (
  visitor STRING,
  page STRING,
  at TIMESTAMP
)
WITH (connector = 'folder', path = '/data/web', format = 'json');

CREATE STREAM app (
  visitor STRING,
  page STRING,
  at TIMESTAMP
)
WITH (connector = 'folder', path = '/data/app', format = 'json');

CREATE MATERIALIZED VIEW visits AS
SELECT
  visitor,
  page,
  'web' AS place
FROM web
UNION ALL
SELECT
  visitor,
  page,
  'app' AS place
FROM app;

-- headwater check: ok
