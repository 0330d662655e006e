CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW per_shop WITH (retention = 'forever') AS
SELECT shop, count(*) AS n, sum(amount) AS total FROM sales GROUP BY shop;
