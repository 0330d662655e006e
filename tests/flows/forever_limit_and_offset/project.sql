CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- what tells rows apart is their rank, which isn't shown
CREATE MATERIALIZED VIEW second_to_fifth WITH (retention = 'forever') AS
SELECT shop, amount FROM sales ORDER BY amount DESC LIMIT 4 OFFSET 1;
