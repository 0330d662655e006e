CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW per_shop WITH (retention = 'forever') AS
SELECT shop, count(*) AS n, sum(amount) AS total, max(made_at) AS last_at, first(id) AS first_id
FROM sales GROUP BY shop;
