CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW latest WITH (retention = '20 seconds', grace = '2 seconds') AS
SELECT shop, id, amount, made_at FROM sales
QUALIFY row_number() OVER (PARTITION BY shop ORDER BY made_at DESC) = 1;
