CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- a window without a symbol has NULL for it, as in Spark, the count too
CREATE MATERIALIZED VIEW by_symbol WITH (emit = 'changes') AS
SELECT * FROM (SELECT window_end, symbol, volume FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND))
PIVOT (sum(volume) AS traded, count(*) AS n FOR symbol IN ('a' AS a, 'b' AS b, NULL AS none));
