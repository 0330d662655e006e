CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol', unique = 'id');

-- the copies of 7 and 11 count once; without the time an event has no key, so that rows are written when they are final
CREATE MATERIALIZED VIEW recent AS
SELECT id, count(*) OVER ten AS n, last_value(id) OVER ten AS last
FROM trades
WINDOW ten AS (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
