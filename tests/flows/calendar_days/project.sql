CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' HOUR
) WITH (key = 'shop');

-- the 29th of March has 23 hours in Berlin, the 25th of October 25
CREATE MATERIALIZED VIEW per_day WITH (emit = 'final') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '1' DAY, 'Europe/Berlin')
GROUP BY shop, window_start, window_end;
