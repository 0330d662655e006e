CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- a row is written before its partner comes, and replaced when it does
CREATE MATERIALIZED VIEW paid WITH (emit = 'changes', key = 'id, payment') AS
SELECT o.id, p.id AS payment, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND;
