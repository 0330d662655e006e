CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW next_rows WITH (horizon = '10 seconds') AS
SELECT id, min(price) OVER (PARTITION BY symbol ORDER BY made_at ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS least,
  count(*) OVER (PARTITION BY symbol ORDER BY made_at DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS left
FROM trades;
