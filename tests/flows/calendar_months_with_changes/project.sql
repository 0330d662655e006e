CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' HOUR
) WITH (key = 'shop');

-- months of New York, whose clocks are five hours behind, and four from the 8th of March
CREATE MATERIALIZED VIEW per_month WITH (emit = 'changes', grace = '2 hours') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '1' MONTH, 'America/New_York')
GROUP BY shop, window_start, window_end;
