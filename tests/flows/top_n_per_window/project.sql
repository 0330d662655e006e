CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW dearest WITH (emit = 'final') AS
SELECT window_end, place, id, price FROM (
  SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY price DESC) AS place FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND))
WHERE place <= 2;
