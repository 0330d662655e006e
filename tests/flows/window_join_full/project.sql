CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW same_window AS
SELECT o.id, coalesce(o.window_end, p.window_end) AS window_end, p.id AS payment
FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS o
FULL JOIN TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS p
ON o.id = p.order_id AND o.window_end = p.window_end;
