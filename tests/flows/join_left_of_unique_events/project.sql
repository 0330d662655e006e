CREATE STREAM orders (
  id STRING, item STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (unique = 'id');
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND
) WITH (unique = 'id');

-- an order is shown as soon as it has come, without a payment, which it has when that comes: nothing waits for a watermark
CREATE MATERIALIZED VIEW paid AS
SELECT o.id, o.made_at, p.id AS payment, p.paid, p.paid_at
FROM orders o LEFT JOIN payments p
ON p.order_id = o.id AND p.paid_at BETWEEN o.made_at AND o.made_at + INTERVAL '30' SECOND;
