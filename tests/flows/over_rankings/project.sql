CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW ranks AS
SELECT id, window_end, row_number() OVER dearest AS number, rank() OVER dearest AS rank, dense_rank() OVER dearest AS dense, percent_rank() OVER dearest AS share,
  cume_dist() OVER dearest AS part, ntile(2) OVER dearest AS half
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
WINDOW dearest AS (PARTITION BY window_end ORDER BY price DESC);
