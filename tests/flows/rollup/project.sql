CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- the group of all symbols, and that of the rows without one, both have a NULL: the level tells them apart
CREATE MATERIALIZED VIEW per_symbol WITH (emit = 'final') AS
SELECT window_end, symbol, price % 2 AS odd, grouping_id() AS level, grouping(symbol) AS every, count(*) AS n, sum(volume) AS traded
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY window_end, ROLLUP (symbol, price % 2);
