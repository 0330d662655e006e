CREATE STREAM orders (
  id STRING, shop STRING, made_at TIMESTAMP NOT NULL, WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);
CREATE STREAM payments (
  order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL, WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW paid WITH (retention = '20 seconds', grace = '1 second') AS
SELECT o.shop, count(*) AS n, sum(p.paid) AS paid
FROM orders o JOIN payments p ON p.order_id = o.id AND p.made_at BETWEEN o.made_at - INTERVAL '1' SECOND AND o.made_at + INTERVAL '5' SECOND
GROUP BY o.shop;
