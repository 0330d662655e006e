CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- a row more than ten seconds away is none; one exactly ten seconds away counts
CREATE MATERIALIZED VIEW steps WITH (horizon = '10 seconds') AS
SELECT id, lag(id) OVER w AS before, lag(id, 2, 'none') OVER w AS earlier, lead(id) OVER w AS after,
  lag(price) IGNORE NULLS OVER w AS priced
FROM trades
WINDOW w AS (PARTITION BY symbol ORDER BY made_at);
