CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW per_shop WITH (emit = 'changes') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;

-- the windows are those of the other view: a ranking is final when all of its rows are
CREATE MATERIALIZED VIEW best WITH (emit = 'final') AS
SELECT window_end, place, shop, total FROM (
  SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY total DESC, shop) AS place FROM per_shop)
WHERE place <= 2;
