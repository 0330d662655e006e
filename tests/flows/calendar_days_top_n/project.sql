CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' HOUR
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW largest AS
SELECT window_start, id, amount, row_number() OVER (PARTITION BY window_start ORDER BY amount DESC) AS place
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '1' DAY, 'Europe/Berlin')
QUALIFY place <= 2;
