CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the window that ends at 60 is not final yet: the watermark is at 60, its grace ends at 63.5
CREATE MATERIALIZED VIEW per_shop WITH (emit = 'final', grace = '3500 milliseconds') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
