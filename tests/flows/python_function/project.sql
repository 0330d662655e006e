CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW commissions AS
SELECT id, shop, commission(shop, amount) AS commission, letters(shop) AS letters, made_at
FROM sales
WHERE commission(shop, amount) > 0.4 OR amount IS NULL;
