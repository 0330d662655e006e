CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW dearest WITH (emit = 'changes', grace = '4 seconds') AS
SELECT symbol, window_end, row_number() OVER (PARTITION BY symbol, window_end ORDER BY volume DESC, id) AS place, id
FROM HOP(TABLE trades, DESCRIPTOR(made_at), INTERVAL '5' SECOND, INTERVAL '10' SECOND)
QUALIFY place <= 2;
