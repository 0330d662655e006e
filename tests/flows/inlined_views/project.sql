CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- a plain view is put in place wherever it is read
CREATE VIEW priced AS SELECT id, coalesce(shop, 'none') AS shop, amount, made_at FROM sales WHERE amount IS NOT NULL;
CREATE VIEW dear AS SELECT shop, amount * 100 AS cents, made_at FROM priced WHERE amount > 2;
CREATE MATERIALIZED VIEW per_shop WITH (emit = 'final') AS
SELECT shop, window_end, count(*) AS n, sum(cents) AS cents
FROM TUMBLE(TABLE dear, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
