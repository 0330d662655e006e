CREATE STREAM baskets (
  id STRING, shop STRING, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8, 2), tags: ARRAY<STRING>>>, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW sold AS
SELECT b.id, place, item.name AS name
FROM baskets b LATERAL VIEW OUTER posexplode(items) t AS place, item;
