CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW beside WITH (key = 'window_end') AS
SELECT x.window_end, x.orders, y.payments AS before
FROM (SELECT window_end, count(*) AS orders FROM TUMBLE(orders, made_at, INTERVAL '5' SECOND) GROUP BY window_end) x
LEFT JOIN (SELECT window_end, count(*) AS payments FROM TUMBLE(payments, made_at, INTERVAL '5' SECOND) GROUP BY window_end) y
ON y.window_end = x.window_end - INTERVAL '5' SECOND
EMIT CHANGES;
