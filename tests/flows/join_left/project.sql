CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- an order without a payment comes out when none can come any more; o9 still waits
CREATE MATERIALIZED VIEW paid AS
SELECT o.id, o.made_at, p.id AS payment, p.paid
FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND;
