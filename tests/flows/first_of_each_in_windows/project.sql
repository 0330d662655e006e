CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- the dearest trade of each symbol in each window; of equal ones the one with the least id
CREATE MATERIALIZED VIEW dearest WITH (emit = 'final') AS
SELECT DISTINCT ON (symbol, window_end) symbol, window_end, id, price * 2 AS twice
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
WHERE price IS NOT NULL
ORDER BY symbol, window_end, twice DESC, id;
