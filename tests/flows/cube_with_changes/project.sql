CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW per_symbol WITH (emit = 'changes', grace = '2 seconds') AS
SELECT window_end, symbol, price, grouping_id() AS level, count(*) AS n, max(price) AS most
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY window_end, CUBE (symbol, price)
HAVING count(*) > 1;
