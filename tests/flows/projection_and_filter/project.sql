CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW sized AS
SELECT id, upper(coalesce(shop, 'none')) AS shop, amount * 2 AS twice, date_trunc('MINUTE', made_at) AS minute,
  CASE WHEN amount >= 10 THEN 'large' WHEN amount IS NULL THEN 'unknown' ELSE 'small' END AS size
FROM sales
WHERE amount IS NULL OR amount <> 7.25;
