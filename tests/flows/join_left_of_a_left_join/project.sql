CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW chains WITH (emit = 'changes', key = 'id, payment, other') AS
SELECT o.id, p.id AS payment, q.id AS other
FROM orders o
LEFT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '5' SECOND
LEFT JOIN payments q ON p.order_id = q.order_id AND q.id <> p.id
  AND q.made_at BETWEEN p.made_at AND p.made_at + INTERVAL '6' SECOND;
