CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW leaders WITH (retention = '20 seconds', grace = '2 seconds') AS
SELECT shop, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place
FROM sales GROUP BY shop QUALIFY place <= 2;
