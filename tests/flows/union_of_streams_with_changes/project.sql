CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW everywhere WITH (emit = 'changes', grace = '3 seconds') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE (SELECT shop, amount, made_at FROM sales UNION ALL SELECT shop, amount, made_at FROM web),
  DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
