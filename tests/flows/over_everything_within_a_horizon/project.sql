CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- without a frame, a running value is one of the horizon: ranks count from its first row
CREATE MATERIALIZED VIEW running WITH (horizon = '10 seconds') AS
SELECT id, sum(price) OVER w AS total, last_value(id) OVER w AS last, row_number() OVER w AS number, rank() OVER w AS rank,
  dense_rank() OVER w AS dense
FROM trades
WINDOW w AS (PARTITION BY symbol ORDER BY made_at);
