CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW so_far WITH (emit = 'changes') AS
SELECT shop, window_start, window_end, count(*) AS n
FROM CUMULATE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '5' SECOND, INTERVAL '20' SECOND, INTERVAL '7' SECOND)
WHERE shop IN ('a', 'b')
GROUP BY shop, window_start, window_end;
