CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW busiest AS
SELECT window_end, symbol, n, rank() OVER (PARTITION BY window_end ORDER BY n DESC) AS place,
  n - lag(n) OVER (PARTITION BY window_end ORDER BY n) AS step
FROM (SELECT symbol, window_end, count(*) AS n FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) GROUP BY symbol, window_end);
