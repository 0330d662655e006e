CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- rows without a symbol are equal to nothing: they count none of their own
CREATE MATERIALIZED VIEW compared WITH (key = 'id', emit = 'changes') AS
SELECT id, price, (SELECT count(*) FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) o WHERE o.window_end = t.window_end AND o.symbol = t.symbol AND o.volume > 1) AS same,
  (SELECT max(o.price) FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) o WHERE t.window_end = o.window_end) - price AS below
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) t;
