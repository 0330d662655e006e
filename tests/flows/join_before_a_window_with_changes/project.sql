CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW paid_per_window WITH (emit = 'changes') AS
SELECT customer, window_end, count(*) AS n, sum(paid) AS paid
FROM TUMBLE(TABLE (SELECT p.made_at AS made_at, o.customer AS customer, p.paid AS paid FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '10' SECOND),
  DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY customer, window_end
HAVING sum(paid) > 4;
