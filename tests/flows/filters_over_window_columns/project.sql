CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW middle WITH (emit = 'final') AS
SELECT shop, window_start, n FROM (
  SELECT shop, window_start, window_end, count(*) AS n
  FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
  WHERE window_start >= TIMESTAMP '2026-01-01 00:00:10Z' AND amount > 1
  GROUP BY shop, window_start, window_end
)
WHERE window_end < TIMESTAMP '2026-01-01 00:00:50Z' AND n < 2;
