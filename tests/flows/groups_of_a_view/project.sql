CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW per_shop WITH (emit = 'changes') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND, INTERVAL '20' SECOND)
GROUP BY shop, window_start, window_end;

-- grouped by the windows of the other view once more, by their start
CREATE MATERIALIZED VIEW per_window WITH (emit = 'final') AS
SELECT window_start, count(*) AS shops, sum(n) AS n, max(total) AS best FROM per_shop GROUP BY window_start;
