CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- strict bounds on both sides of the order, and a condition on both rows
CREATE MATERIALIZED VIEW near AS
SELECT o.id, p.id AS payment, o.amount - p.paid AS owed
FROM orders o JOIN payments p
ON o.id = p.order_id AND p.made_at > o.made_at - INTERVAL '2' SECOND AND p.made_at < o.made_at + INTERVAL '10' SECOND AND p.paid < o.amount;
