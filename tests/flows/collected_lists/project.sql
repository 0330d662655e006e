CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW lists WITH (emit = 'changes') AS
SELECT window_end, collect_list(shop) AS shops, collect_set(amount) AS amounts, listagg(id, '+') AS ids,
  collect_list(id) FILTER (WHERE amount > 5) AS large
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '30' SECOND)
GROUP BY window_end;
