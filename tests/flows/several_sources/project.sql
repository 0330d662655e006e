CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the watermark is that of the slowest source: till-2 holds it back
CREATE MATERIALIZED VIEW per_shop WITH (emit = 'final') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
