CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW steps AS
SELECT id, lag(id) OVER w AS before, lead(id, 2, 'none') OVER w AS after, lag(price) IGNORE NULLS OVER w AS priced
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
WINDOW w AS (PARTITION BY symbol, window_end ORDER BY made_at);
