CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- a window over the windows of another view: it closes when the other view's last window in it is final
CREATE MATERIALIZED VIEW per_shop WITH (emit = 'changes') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;

CREATE MATERIALIZED VIEW per_half_minute WITH (emit = 'final') AS
SELECT window_end AS until, max(total) AS best, count(*) AS shops, sum(n) AS n
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '30' SECOND)
GROUP BY window_end;
