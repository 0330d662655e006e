CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol', unique = 'id');

-- an event is told by its id and its time: each is shown as soon as it has come
CREATE MATERIALIZED VIEW recent AS
SELECT id, made_at, count(*) OVER ten AS n, last_value(id) OVER ten AS last
FROM trades
WINDOW ten AS (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
