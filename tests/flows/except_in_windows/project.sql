CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- the order without an id and the payment without one are the same: NULLs are, in set operations
CREATE MATERIALIZED VIEW unpaid WITH (emit = 'final') AS
SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
EXCEPT
SELECT order_id, window_end FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '10' SECOND);
