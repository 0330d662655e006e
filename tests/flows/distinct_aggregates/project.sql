CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW kinds WITH (emit = 'final') AS
SELECT window_end, sum(DISTINCT amount) AS total, max(DISTINCT shop) AS last_shop,
  sum(DISTINCT amount) FILTER (WHERE amount < 10) AS small, count(DISTINCT amount) AS amounts, sum(amount) AS plain
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '20' SECOND)
GROUP BY window_end;
