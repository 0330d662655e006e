CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), weight DOUBLE, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

-- a minute by seconds: each row is in 60 windows, and many rows are late for the first of them only
CREATE MATERIALIZED VIEW sliding WITH (emit = 'final', grace = '3 seconds') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total, avg(amount) AS mean,
  round(stddev(weight), 6) AS spread, round(corr(amount, weight), 6) AS together, first(id) AS earliest,
  max_by(id, weight) AS heaviest
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '1' SECOND, INTERVAL '60' SECOND)
WHERE amount <> 9
GROUP BY shop, window_start, window_end
HAVING count(*) <> 2;
