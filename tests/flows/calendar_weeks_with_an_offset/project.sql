CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' HOUR
) WITH (key = 'shop');

-- weeks in India, half an hour off the hour, from Mondays at six in the morning
CREATE MATERIALIZED VIEW per_week WITH (emit = 'final') AS
SELECT window_start, window_end, count(*) AS n, max(amount) AS most
FROM TUMBLE(DATA => sales, TIMECOL => made_at, SIZE => INTERVAL '1' WEEK, OFFSET => INTERVAL '6' HOUR, ZONE => 'Asia/Kolkata')
GROUP BY window_start, window_end;
