CREATE STREAM purchases (
  id STRING,
  shop STRING,
  amount DECIMAL(10, 2),
  bought_at TIMESTAMP,
  WATERMARK FOR bought_at AS bought_at - INTERVAL '5' SECOND
)
WITH (connector = 'kafka', topic = 'purchases', brokers = 'b:9092', format = 'protobuf', registry = 'http://r:8081');

CREATE TABLE shops (
  shop STRING NOT NULL,
  city STRING,
  PRIMARY KEY (shop)
)
WITH (connector = 'kafka', topic = 'shops', brokers = 'b:9092');

CREATE MATERIALIZED VIEW purchases_with_city AS
SELECT
  p.id,
  p.amount,
  s.city
FROM purchases AS p
LEFT JOIN shops FOR SYSTEM_TIME AS OF p._arrived_at AS s
  ON p.shop = s.shop;

-- headwater check: ok
