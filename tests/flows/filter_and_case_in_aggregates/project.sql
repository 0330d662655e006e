CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW shares WITH (emit = 'final') AS
SELECT window_end, count(*) FILTER (WHERE shop = 'a') AS at_a, sum(amount) FILTER (WHERE shop IS NULL) AS nowhere,
  sum(CASE WHEN shop = 'b' THEN amount ELSE 0 END) AS at_b, count_if(amount > 5) AS above,
  bool_or(amount IS NULL) AS unpriced, CASE WHEN count(*) > 4 THEN 'busy' ELSE 'quiet' END AS state
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '20' SECOND)
GROUP BY window_end;
