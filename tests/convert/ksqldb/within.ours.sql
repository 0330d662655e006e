CREATE STREAM orders (
  order_id STRING,
  customer STRING,
  ordered_at TIMESTAMP,
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '1' MILLISECOND
)
WITH (key = 'order_id', connector = 'kafka', topic = 'orders', message_key = 'order_id');

CREATE STREAM payments (
  payment_id STRING,
  order_id STRING,
  amount DECIMAL(10, 2),
  paid_at TIMESTAMP,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '1' MILLISECOND
)
WITH (key = 'payment_id', connector = 'kafka', topic = 'payments', message_key = 'payment_id');

-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET paid_orders_out FROM paid_orders
--   TO 'kafka://PAID_ORDERS'.

CREATE MATERIALIZED VIEW paid_orders
WITH (grace = '15 minutes') AS
SELECT
  o.order_id,
  o.customer,
  p.amount,
  p.paid_at
FROM orders AS o
INNER JOIN payments AS p
  ON o.order_id = p.order_id
  AND p.paid_at BETWEEN o.ordered_at - INTERVAL '1' HOUR AND o.ordered_at + INTERVAL '2' DAY;

-- headwater check: ok
