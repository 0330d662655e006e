CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW dearer AS
SELECT o.id, p.id AS payment FROM orders o
JOIN payments p ON p.paid < o.amount AND p.made_at > o.made_at - INTERVAL '3' SECOND AND p.made_at <= o.made_at + INTERVAL '3' SECOND;
