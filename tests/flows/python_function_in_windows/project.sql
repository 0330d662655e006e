CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE FUNCTION of_shop(shop STRING) RETURNS STRING RETURN coalesce(bucket(upper(shop)), 'none');

CREATE MATERIALIZED VIEW per_bucket WITH (emit = 'changes') AS
SELECT of_shop(shop) AS bucket, window_end, count(*) AS n, sum(cents(amount)) AS cents
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY of_shop(shop), window_end
HAVING cents(max(amount)) > 100;
