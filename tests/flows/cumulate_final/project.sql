CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW so_far WITH (emit = 'final') AS
SELECT window_start, window_end, count(*) AS n, sum(amount) AS total
FROM CUMULATE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '30' SECOND)
GROUP BY window_start, window_end;
