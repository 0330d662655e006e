CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

-- each row is admitted by the stamp of its own stream; a window is final when both streams are past it
CREATE MATERIALIZED VIEW everywhere WITH (emit = 'final') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE (SELECT shop, amount, made_at FROM sales UNION ALL SELECT shop, amount, made_at FROM web WHERE amount <> 500),
  DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
