CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW same_window AS
SELECT o.id, o.window_end
FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS o
WHERE EXISTS (
  SELECT 1 FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS p
  WHERE p.order_id = o.id AND p.window_start = o.window_start AND p.window_end = o.window_end);
