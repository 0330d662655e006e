CREATE STREAM baskets (
  id STRING, shop STRING, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8, 2), tags: ARRAY<STRING>>>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW per_item WITH (emit = 'final') AS
SELECT name, window_end, count(*) AS n, sum(price) AS total
FROM TUMBLE(TABLE (SELECT item.name AS name, item.price AS price, made_at FROM baskets LATERAL VIEW explode(items) t AS item),
  DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY name, window_end;
