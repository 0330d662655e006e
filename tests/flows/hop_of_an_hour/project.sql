CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- longer than 2^31 microseconds, 35 minutes and 47 seconds
CREATE MATERIALIZED VIEW sliding WITH (emit = 'changes', grace = '1 minute') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' MINUTE, INTERVAL '1' HOUR)
GROUP BY shop, window_start, window_end;
