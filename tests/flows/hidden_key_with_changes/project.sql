CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- rows of several shops are equal: the store tells them apart by what nobody sees
CREATE MATERIALIZED VIEW per_shop AS
SELECT window_end, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end HAVING count(amount) > 0;
