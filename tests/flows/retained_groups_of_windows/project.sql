CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW records WITH (retention = '20 seconds', grace = '2 seconds') AS
SELECT shop, max(n) AS most, count(*) AS windows
FROM (
  SELECT shop, window_end, count(*) AS n FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '5' SECOND)
  GROUP BY shop, window_end
)
GROUP BY shop;
