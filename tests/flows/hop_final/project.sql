CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- row 11 is late for one of its windows and in time for the other
CREATE MATERIALIZED VIEW sliding WITH (emit = 'final') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '20' SECOND)
GROUP BY shop, window_start, window_end;
