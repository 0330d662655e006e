CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW chosen AS
SELECT id, count(*) FILTER (WHERE price > 8) OVER ten AS dear, sum(volume) FILTER (WHERE price > 8) OVER ten AS traded,
  count(DISTINCT price) OVER ten AS prices, bool_and(price > 3) OVER ten AS every
FROM trades
WINDOW ten AS (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
