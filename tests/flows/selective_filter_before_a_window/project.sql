CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the rows that move the watermark are filtered away: windows close all the same
CREATE MATERIALIZED VIEW sold_by_b WITH (emit = 'final') AS
SELECT window_start, window_end, count(*) AS n, count(amount) AS priced
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
WHERE shop = 'b'
GROUP BY window_start, window_end;
