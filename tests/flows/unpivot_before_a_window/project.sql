CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW quantities WITH (emit = 'final') AS
SELECT window_end, what, sum(quantity) AS total
FROM TUMBLE(TABLE (SELECT made_at, what, quantity FROM (SELECT made_at, CAST(price AS DECIMAL(10, 2)) AS price, volume FROM trades)
  UNPIVOT (quantity FOR what IN (price AS paid, volume))), DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY window_end, what;
