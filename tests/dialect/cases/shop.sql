CREATE STREAM orders (
  id STRING NOT NULL, customer STRING, amount DECIMAL(12, 2), weight DOUBLE, quantity INT, items ARRAY<STRING>,
  address STRUCT<city: STRING, zip: STRING>, body STRING, made_at TIMESTAMP,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING NOT NULL, order_id STRING, customer STRING, paid DECIMAL(12, 2), made_at TIMESTAMP,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM clicks (customer STRING, page STRING, n INT);
CREATE TABLE customers (
  customer STRING, country STRING, changed_at TIMESTAMP,
  PRIMARY KEY (customer), WATERMARK FOR changed_at AS changed_at
);
CREATE TABLE products (sku STRING, name STRING, price DECIMAL(12, 2), maker STRING, PRIMARY KEY (sku));
CREATE TABLE stock (id INT, sku STRING, shop STRING, pieces INT, PRIMARY KEY (id));
