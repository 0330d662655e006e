CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW dearest WITH (retention = 'forever') AS
SELECT id, amount FROM (SELECT *, row_number() OVER (PARTITION BY shop ORDER BY amount DESC) AS n FROM sales) WHERE n <= 2;
