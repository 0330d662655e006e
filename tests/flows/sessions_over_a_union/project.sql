CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW bursts AS
SELECT shop, window_start, window_end, count(*) AS n
FROM SESSION(TABLE (SELECT shop, made_at FROM sales UNION ALL SELECT shop, made_at FROM web) PARTITION BY shop,
  DESCRIPTOR(made_at), INTERVAL '6' SECOND)
GROUP BY shop, window_start, window_end;
