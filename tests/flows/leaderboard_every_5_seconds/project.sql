CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW leaders WITH (retention = '20 seconds', grace = '2 seconds', every = '5 seconds') AS
SELECT shop, count(*) AS n, sum(amount) AS total FROM sales GROUP BY shop ORDER BY total DESC LIMIT 3;
