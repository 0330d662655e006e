CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW running AS
SELECT id, sum(price) OVER (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) AS s
FROM trades;

-- the event time of a late row lies before any slice of the time in which it came
CREATE MATERIALIZED VIEW oldest WITH (emit = 'final') AS
SELECT window_end, place, id, made_at FROM (
  SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY made_at) AS place
  FROM TUMBLE(TABLE late(running), DESCRIPTOR(_watermark), INTERVAL '10' SECOND))
WHERE place <= 2;
