CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- what is dearer than its window is on average
CREATE MATERIALIZED VIEW dear AS
SELECT id, window_end, price FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS t
WHERE price > (SELECT avg(o.price) FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) AS o WHERE o.window_end = t.window_end);
