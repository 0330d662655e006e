CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW totals WITH (retention = 'forever') AS
SELECT sum(amount) AS total, count(*) > 3 AS many
FROM sales GROUP BY upper(shop), id > '5';
