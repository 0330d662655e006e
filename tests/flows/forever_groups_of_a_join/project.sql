CREATE STREAM orders (
  id STRING, shop STRING, made_at TIMESTAMP NOT NULL, WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);
CREATE STREAM payments (
  order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL, WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW paid WITH (retention = 'forever') AS
SELECT o.shop, count(*) AS n, count(p.paid) AS payments, sum(p.paid) AS paid
FROM orders o LEFT JOIN payments p ON p.order_id = o.id
GROUP BY o.shop;
