CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- a row that the condition no longer shows is deleted
CREATE MATERIALIZED VIEW quiet WITH (emit = 'changes') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end
HAVING count(*) < 2 OR sum(amount) > 90;
