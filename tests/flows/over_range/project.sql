CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- rows at the same time are in each other's frames
CREATE MATERIALIZED VIEW recent AS
SELECT id, count(*) OVER ten AS n, count(price) OVER ten AS priced, sum(volume) OVER ten AS traded, avg(price) OVER ten AS mean,
  min(price) OVER ten AS least, max(volume) OVER ten AS most
FROM trades
WINDOW ten AS (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
