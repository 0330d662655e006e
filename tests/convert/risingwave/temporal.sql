CREATE SOURCE purchases (id varchar, shop varchar, amount decimal(10, 2), bought_at timestamptz, WATERMARK FOR bought_at AS bought_at - INTERVAL '5' SECOND)
WITH (connector = 'kafka', topic = 'purchases', properties.bootstrap.server = 'b:9092') FORMAT PLAIN ENCODE PROTOBUF (schema.registry = 'http://r:8081', message = 'shop.Purchase');
CREATE TABLE shops (shop varchar PRIMARY KEY, city varchar) WITH (connector = 'kafka', topic = 'shops', properties.bootstrap.server = 'b:9092') FORMAT UPSERT ENCODE JSON;
CREATE MATERIALIZED VIEW purchases_with_city AS
SELECT p.id, p.amount, s.city FROM purchases AS p LEFT JOIN shops FOR SYSTEM_TIME AS OF PROCTIME() AS s ON p.shop = s.shop;
