CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW sliding WITH (emit = 'final') AS
SELECT shop, window_start, window_end, count(*) AS n
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '20' SECOND)
GROUP BY shop, window_start, window_end;

-- once for each window that it came too late for, in the window of the watermark that it met
CREATE MATERIALIZED VIEW missed WITH (emit = 'final') AS
SELECT shop, window_end, count(*) AS n, min(made_at) AS oldest
FROM TUMBLE(TABLE late(sliding), DESCRIPTOR(_watermark), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
