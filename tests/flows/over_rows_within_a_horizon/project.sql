CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- the last rows of all time, of which those more than ten seconds away don't count
CREATE MATERIALIZED VIEW last_rows WITH (horizon = '10 seconds') AS
SELECT id, sum(volume) OVER three AS traded, avg(price) OVER three AS mean, count(*) OVER three AS n, max(price) OVER three AS most,
  first_value(id) OVER three AS first, collect_list(price) OVER three AS prices,
  count(*) OVER (PARTITION BY symbol ORDER BY made_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
FROM trades
WINDOW three AS (PARTITION BY symbol ORDER BY made_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW);
