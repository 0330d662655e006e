-- Note: USING delta was left out: append its rows with `headwater append`, or say connector = 'folder' or 'kafka'.

CREATE STREAM stock (
  sku STRING,
  units INT
);

CREATE MATERIALIZED VIEW by_select AS
SELECT
  sku,
  units
FROM stock
WHERE
  units > 0;

CREATE VIEW empty_shelves AS
SELECT
  sku
FROM stock
WHERE
  units = 0;

-- headwater check: ok
