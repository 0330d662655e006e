CREATE TABLE orders (id STRING NOT NULL COMMENT 'from the shop', total DECIMAL(10, 2), placed_at TIMESTAMP)
USING kafka
OPTIONS (`kafka.bootstrap.servers` 'b:9092', subscribe 'orders', startingOffsets 'earliest', failOnDataLoss 'false');
CREATE OR REFRESH STREAMING TABLE big_orders
COMMENT 'above a thousand'
AS SELECT id, total FROM STREAM orders WHERE total > 1000;
