CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW kinds WITH (emit = 'changes') AS
SELECT window_end, count(DISTINCT shop) AS shops, count(DISTINCT shop, amount) AS pairs,
  count(DISTINCT amount) FILTER (WHERE shop <> 'a') AS elsewhere, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '20' SECOND)
GROUP BY window_end;
