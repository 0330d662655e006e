CREATE TABLE articles (sku varchar PRIMARY KEY, title varchar, price numeric, attributes jsonb)
INCLUDE key AS message_key_of
WITH (connector = 'kafka', topic = 'articles', properties.bootstrap.server = 'b:9092')
FORMAT UPSERT ENCODE JSON;
CREATE MATERIALIZED VIEW colours AS
SELECT attributes ->> 'colour' AS colour, count(*) AS articles, max(price) AS dearest FROM articles GROUP BY 1;
CREATE INDEX colours_by_count ON colours (articles);
