-- Note: 's3.credentials.access' = '…' was left out. How an object store is reached is said in headwater.toml,
--   [storage].
-- Note: 's3.credentials.secret' = '…' was left out. How an object store is reached is said in headwater.toml,
--   [storage].

CREATE STREAM receipts (
  id STRING,
  total DECIMAL(10, 2),
  lines ARRAY<STRUCT<sku: STRING, n: INT>>
)
WITH (connector = 'folder', path = 's3://receipts', pattern = '*.ndjson', format = 'json');

-- Note: delimiter = ',' was left out: there is no such option with connector 'folder'.

CREATE STREAM old_receipts (
  id STRING,
  total DECIMAL(10, 2)
)
WITH (connector = 'folder', path = '/srv/receipts', pattern = '*.csv', format = 'csv');

CREATE VIEW all_receipts AS
SELECT
  id,
  total
FROM receipts
UNION ALL
SELECT
  id,
  total
FROM old_receipts;

CREATE VIEW first_lines AS
SELECT
  id,
  TRY_ELEMENT_AT(lines, 1) AS line
FROM receipts;

-- headwater check: ok
