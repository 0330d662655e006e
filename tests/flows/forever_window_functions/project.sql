CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW so_far WITH (retention = 'forever', key = 'id') AS
SELECT id, shop, amount - lag(amount) OVER (PARTITION BY shop ORDER BY made_at) AS more,
  sum(amount) OVER (PARTITION BY shop ORDER BY made_at ROWS UNBOUNDED PRECEDING) AS sold,
  max(amount) OVER (PARTITION BY shop) AS largest
FROM sales;
