CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW percentiles WITH (emit = 'changes') AS
SELECT window_end, percentile(amount, array(0.0, 0.25, 0.9)) AS several, median(amount) AS middle,
  percentile_cont(0.75) WITHIN GROUP (ORDER BY amount) AS upper, percentile_disc(0.5) WITHIN GROUP (ORDER BY amount) AS disc
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '30' SECOND)
GROUP BY window_end;
