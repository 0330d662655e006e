CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW dearest WITH (emit = 'final') AS
SELECT window_end, shop, worth, place FROM (
  SELECT window_end, shop, worth,
    row_number() OVER (PARTITION BY window_end ORDER BY worth DESC, shop NULLS LAST) AS place
  FROM (
    SELECT window_end, shop, sum(worth(amount)) AS worth
    FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
    GROUP BY window_end, shop
  )
)
WHERE place <= 2;
