CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE FUNCTION net(gross DECIMAL(10, 2), rate DECIMAL(3, 2)) RETURNS DECIMAL(12, 2)
RETURN CAST(gross / (1 + rate) AS DECIMAL(12, 2));
CREATE FUNCTION band(gross DECIMAL(10, 2)) RETURNS STRING
RETURN CASE WHEN net(gross, 0.25) >= 8 THEN 'high' ELSE 'low' END;
CREATE FUNCTION halved(n DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) RETURN CAST(n / 2 AS DECIMAL(10, 2));

CREATE MATERIALIZED VIEW per_band WITH (emit = 'changes') AS
SELECT band(amount) AS band, window_end, count(*) AS n, sum(net(amount, 0.25)) AS net, max(halved(halved(amount))) AS most
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '20' SECOND)
WHERE net(amount, 0) <> 2 OR amount IS NULL
GROUP BY band(amount), window_end;
