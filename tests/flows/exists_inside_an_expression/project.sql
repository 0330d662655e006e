CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- trades that are dear, or whose symbol was traded in quantity in the same window, and whether one of them was cheap
CREATE MATERIALIZED VIEW notable AS
SELECT id, window_end, EXISTS (
  SELECT 1 FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS c
  WHERE c.window_end = t.window_end AND c.symbol = t.symbol AND c.price < 8) AS beside_cheap
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS t
WHERE price >= 20 OR t.symbol IN (
  SELECT o.symbol FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS o
  WHERE o.window_end = t.window_end AND o.volume >= 4);
