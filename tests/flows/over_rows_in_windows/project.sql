CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW rows_around AS
SELECT id, sum(volume) OVER (PARTITION BY symbol, window_end ORDER BY made_at ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS three,
  count(*) OVER (PARTITION BY symbol, window_end ORDER BY made_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
  last_value(id) OVER (PARTITION BY symbol, window_end ORDER BY made_at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS last,
  avg(price) OVER (PARTITION BY symbol, window_end ORDER BY made_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND);
