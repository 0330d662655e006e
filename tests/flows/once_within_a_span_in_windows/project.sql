CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id', within = '10 seconds');

CREATE MATERIALIZED VIEW per_shop WITH (grace = '4 seconds') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total, first(id) AS first_id
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND) GROUP BY shop, window_end;
