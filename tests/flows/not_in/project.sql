CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- an order is paid by a payment of its id, or, for all one knows, by one that names none: payment p5
CREATE MATERIALIZED VIEW unpaid AS
SELECT o.id, o.amount FROM orders o
WHERE o.id NOT IN (SELECT p.order_id FROM payments p WHERE p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '6' SECOND);
