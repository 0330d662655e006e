CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW paid_at_once AS
SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
INTERSECT
SELECT order_id, window_end FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '10' SECOND);
