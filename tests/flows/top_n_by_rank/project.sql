CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- rows that are equal share a rank, and all of them are kept
CREATE MATERIALIZED VIEW dearest AS
SELECT window_end, id, rank() OVER (PARTITION BY window_end ORDER BY price DESC) AS place
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '20' SECOND)
QUALIFY place < 3;
