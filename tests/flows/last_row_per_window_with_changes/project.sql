CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW closing WITH (emit = 'changes') AS
SELECT symbol, window_end, id, price FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
QUALIFY row_number() OVER (PARTITION BY symbol, window_end ORDER BY made_at DESC) = 1;
