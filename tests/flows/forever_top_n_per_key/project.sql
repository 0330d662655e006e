CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW largest WITH (retention = 'forever') AS
SELECT shop, id, amount, row_number() OVER (PARTITION BY shop ORDER BY amount DESC) AS place
FROM sales QUALIFY place <= 2;
