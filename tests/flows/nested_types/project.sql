CREATE STREAM baskets (
  id STRING, shop STRING, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8, 2), tags: ARRAY<STRING>>>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW shapes AS
SELECT id, items[0].name AS first_name, transform(items, i -> i.price) AS prices, items[0].tags AS tags,
  named_struct('shop', shop, 'n', coalesce(size(items), 0)) AS summary, filter(items, i -> i.price > 4) AS dear
FROM baskets
WHERE size(items) > 0;
