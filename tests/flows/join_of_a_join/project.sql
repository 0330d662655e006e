CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW chains AS
SELECT a.id, a.payment, b.id AS other
FROM (SELECT o.id, p.id AS payment, o.made_at FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND) AS a
JOIN orders b ON b.made_at > a.made_at AND b.made_at <= a.made_at + INTERVAL '9' SECOND;
