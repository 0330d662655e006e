CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW per_shop WITH (emit = 'final') AS
SELECT window_end, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;

CREATE MATERIALIZED VIEW most WITH (emit = 'final') AS
SELECT window_end, max(n) AS most, count(*) AS shops
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_end), INTERVAL '20' SECOND) GROUP BY window_end;
