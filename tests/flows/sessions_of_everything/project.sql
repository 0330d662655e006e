CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- no key: one line of sessions
CREATE MATERIALIZED VIEW bursts AS
SELECT window_start, window_end, count(*) AS n, count(DISTINCT shop) AS shops
FROM SESSION(TABLE sales, DESCRIPTOR(made_at), INTERVAL '4' SECOND)
WHERE amount IS NOT NULL
GROUP BY window_start, window_end;
