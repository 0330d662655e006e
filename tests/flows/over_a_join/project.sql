CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- a payment that comes late in its bound changes what lies before it: all wait for it
CREATE MATERIALIZED VIEW running AS
SELECT o.id, p.id AS payment, sum(p.paid) OVER (ORDER BY o.made_at RANGE BETWEEN INTERVAL '20' SECOND PRECEDING AND CURRENT ROW) AS total
FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND;
