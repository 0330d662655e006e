CREATE STREAM orders (
  id STRING NOT NULL, customer STRING, amount DECIMAL(12, 2), weight DOUBLE, quantity INT, paid BOOLEAN,
  items ARRAY<STRING>, lines ARRAY<STRUCT<sku: STRING, price: DECIMAL(12, 2)>>, address STRUCT<city: STRING, zip: STRING>,
  tags MAP<STRING, STRING>, body STRING, day DATE, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING NOT NULL, order_id STRING, customer STRING, paid DECIMAL(12, 2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (unique = 'id');
CREATE STREAM clicks (customer STRING, page STRING, at TIMESTAMP);
CREATE TABLE customers (
  customer STRING, country STRING, changed_at TIMESTAMP,
  PRIMARY KEY (customer), WATERMARK FOR changed_at AS changed_at
);
CREATE TABLE countries (country STRING, name STRING, PRIMARY KEY (country));
CREATE MATERIALIZED VIEW spend AS
SELECT customer, window_start, window_end, sum(amount) AS spent
FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY customer, window_start, window_end;
