-- Note: price: numeric without sizes is DECIMAL(38, 10) here: write the digits that it needs.

CREATE TABLE articles (
  sku STRING NOT NULL,
  title STRING,
  price DECIMAL(38, 10),
  attributes STRING,
  message_key_of STRING,
  PRIMARY KEY (sku)
)
WITH (connector = 'kafka', topic = 'articles', brokers = 'b:9092', message_key = 'message_key_of');

CREATE MATERIALIZED VIEW colours AS
SELECT
  GET_JSON_OBJECT(attributes, '$.colour') AS colour,
  COUNT(*) AS articles,
  MAX(price) AS dearest
FROM articles
GROUP BY
  1;

-- Not carried over: Say what a store finds rows by with the view: WITH (index = 'customer').
-- CREATE INDEX colours_by_count ON colours (articles)

-- headwater check: ok
