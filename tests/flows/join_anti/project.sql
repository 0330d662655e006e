CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW unpaid AS
SELECT o.id, o.amount FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND);
