CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW per_class WITH (emit = 'changes') AS
SELECT amount > 9 AS large, coalesce(upper(shop), '-') AS shop, window_end, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY amount > 9, coalesce(upper(shop), '-'), window_end;
