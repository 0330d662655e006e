CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW sliding WITH (emit = 'changes', grace = '2 seconds') AS
SELECT window_start, window_end, count(*) AS n, max(amount) AS most
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '30' SECOND, INTERVAL '3' SECOND)
GROUP BY window_start, window_end;
