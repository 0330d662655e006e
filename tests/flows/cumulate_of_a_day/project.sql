CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' MINUTE
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW so_far WITH (execution = 'settle', emit = 'changes') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total, collect_list(id) AS ids
FROM CUMULATE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '6' HOUR, INTERVAL '1' DAY)
GROUP BY shop, window_start, window_end;
