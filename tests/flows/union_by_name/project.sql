CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW all_rows AS
SELECT id, amount, shop FROM sales
FULL UNION ALL BY NAME
SELECT amount * 2 AS amount, id FROM web
UNION ALL BY NAME
SELECT shop, id, amount FROM sales WHERE amount > 10;
