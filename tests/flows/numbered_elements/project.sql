CREATE STREAM baskets (
  id STRING, shop STRING, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8, 2), tags: ARRAY<STRING>>>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW sold AS
SELECT b.id, item.name, item.number, tag, place
FROM baskets b
CROSS JOIN UNNEST(items) WITH ORDINALITY AS item (name, price, tags, number)
LEFT JOIN UNNEST(item.tags) WITH ORDINALITY AS t (tag, place) ON TRUE;
