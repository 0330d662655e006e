CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol', unique = 'id');

-- each event counts once in each set
CREATE MATERIALIZED VIEW per_symbol WITH (emit = 'final') AS
SELECT window_end, symbol, price, grouping_id() AS level, count(*) AS n
FROM HOP(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '20' SECOND)
GROUP BY GROUPING SETS ((window_end, symbol), (window_end, price), (window_end));
