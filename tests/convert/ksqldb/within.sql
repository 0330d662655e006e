CREATE STREAM orders (order_id VARCHAR KEY, customer VARCHAR, ordered_at TIMESTAMP)
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', TIMESTAMP = 'ordered_at');
CREATE STREAM payments (payment_id VARCHAR KEY, order_id VARCHAR, amount DECIMAL(10, 2), paid_at TIMESTAMP)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', TIMESTAMP = 'paid_at');

CREATE STREAM paid_orders AS
  SELECT o.order_id, o.customer, p.amount, p.paid_at
  FROM orders o
  INNER JOIN payments p WITHIN (1 HOUR, 2 DAYS) GRACE PERIOD 15 MINUTES ON o.order_id = p.order_id
  EMIT CHANGES;
