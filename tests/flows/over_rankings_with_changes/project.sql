CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- the ranks of an open window change as rows come
CREATE MATERIALIZED VIEW ranks WITH (key = 'id', emit = 'changes', grace = '2 seconds') AS
SELECT id, window_end, row_number() OVER (PARTITION BY symbol, window_end ORDER BY volume) AS number,
  sum(price) OVER (PARTITION BY symbol, window_end) AS total
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND);
