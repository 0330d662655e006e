CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW growth WITH (horizon = '20 seconds', emit = 'final') AS
SELECT symbol, window_end, count(*) AS n, count(*) - lag(count(*)) OVER (PARTITION BY symbol ORDER BY window_end) AS more,
  lead(count(*)) OVER (PARTITION BY symbol ORDER BY window_end) AS next
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) GROUP BY symbol, window_end;
