CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
