CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), quantity INT, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- a minute, growing by 5 seconds, from 10 seconds past the minute
CREATE MATERIALIZED VIEW growing WITH (emit = 'changes', execution = 'settle') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total, avg(quantity) AS mean,
  min(quantity) AS least, last(id) AS latest, count_if(quantity > 2) AS several
FROM CUMULATE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '5' SECOND, INTERVAL '60' SECOND, INTERVAL '10' SECOND)
GROUP BY shop, window_start, window_end
HAVING sum(amount) > 0;
