CREATE TABLE orders (
  id STRING, shop STRING, amount DECIMAL(10, 2), changed_at TIMESTAMP, PRIMARY KEY (id),
  WATERMARK FOR changed_at AS changed_at - INTERVAL '2' SECOND
);
CREATE TABLE shops (
  id STRING, town STRING, changed_at TIMESTAMP, PRIMARY KEY (id),
  WATERMARK FOR changed_at AS changed_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW per_shop AS SELECT shop, count(*) AS n, sum(amount) AS amount FROM orders GROUP BY shop;

CREATE VIEW busy AS SELECT shop, amount FROM per_shop WHERE n > 1;

CREATE MATERIALIZED VIEW per_town AS
SELECT s.town, count(p.shop) AS shops, sum(p.n) AS n, max(b.amount) AS busiest
FROM shops s LEFT JOIN per_shop p ON p.shop = s.id LEFT JOIN busy b ON b.shop = s.id
GROUP BY s.town;

CREATE VIEW named AS
SELECT town AS name, n FROM per_town
UNION ALL SELECT shop AS name, n FROM per_shop WHERE shop IS NOT NULL
UNION ALL SELECT id AS name, 0 AS n FROM shops;

CREATE MATERIALIZED VIEW sums AS SELECT name, sum(n) AS n, count(*) AS parts FROM named GROUP BY name;
