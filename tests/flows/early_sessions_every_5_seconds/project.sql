CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW visits WITH (emit = 'changes', every = '5 seconds', horizon = '1 minute') AS
SELECT shop, window_start, window_end, count(*) AS n
FROM SESSION(TABLE sales PARTITION BY shop, DESCRIPTOR(made_at), INTERVAL '4' SECOND)
GROUP BY shop, window_start, window_end;
