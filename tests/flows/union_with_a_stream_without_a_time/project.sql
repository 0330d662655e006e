CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
) WITH (unique = 'id');

CREATE MATERIALIZED VIEW all_rows AS
SELECT 'sales' AS place, id, amount FROM sales WHERE shop = 'a'
UNION ALL
SELECT 'web' AS place, id, amount FROM web WHERE shop IS NULL OR amount < 300
UNION ALL
SELECT 'twice' AS place, id, amount * 2 AS amount FROM sales WHERE shop = 'b';
