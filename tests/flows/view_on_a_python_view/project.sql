CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the rows of a view in Python happen when their windows end, as those of a view in SQL do
CREATE MATERIALIZED VIEW per_half_minute WITH (emit = 'final') AS
SELECT window_end AS until, max(total) AS best, count(*) AS shops, sum(n) AS n
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '30' SECOND)
GROUP BY window_end;
