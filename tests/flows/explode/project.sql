CREATE STREAM baskets (
  id STRING, shop STRING, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8, 2), tags: ARRAY<STRING>>>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW sold AS
SELECT b.id, item.name, item.price, size(item.tags) AS tags
FROM baskets b LATERAL VIEW explode(items) t AS item
WHERE item.price IS NULL OR item.price < 5;
