CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW paid AS
SELECT o.id, o.amount FROM orders o
WHERE o.id IN (SELECT order_id FROM payments p WHERE p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND AND paid > 2);
