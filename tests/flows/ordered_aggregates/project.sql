CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW lists WITH (emit = 'changes') AS
SELECT window_end,
  array_agg(id ORDER BY shop DESC NULLS LAST, amount) AS ids,
  array_agg(DISTINCT shop ORDER BY shop DESC) AS shops,
  string_agg(id, '+' ORDER BY amount DESC NULLS FIRST) AS joined,
  listagg(id, ', ') WITHIN GROUP (ORDER BY shop) FILTER (WHERE amount > 5) AS large,
  first_value(id ORDER BY amount DESC NULLS LAST) AS dearest,
  last(shop ORDER BY shop NULLS FIRST) AS last_shop,
  first(shop ORDER BY id DESC) IGNORE NULLS AS first_shop,
  mode() WITHIN GROUP (ORDER BY shop) AS most,
  mode() WITHIN GROUP (ORDER BY shop DESC) AS most_backwards
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '30' SECOND)
GROUP BY window_end;
