CREATE STREAM orders (
  id STRING NOT NULL COMMENT 'from the shop',
  total DECIMAL(10, 2),
  placed_at TIMESTAMP
)
WITH (connector = 'kafka', topic = 'orders', brokers = 'b:9092', gaps = 'skip');

CREATE MATERIALIZED VIEW big_orders AS
SELECT
  id,
  total
FROM orders
WHERE
  total > 1000;

-- headwater check: ok
