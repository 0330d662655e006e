CREATE TABLE stock (sku STRING, units INT) USING delta;
CREATE TABLE by_select USING parquet AS SELECT sku, units FROM stock WHERE units > 0;
CREATE TEMPORARY VIEW empty_shelves AS SELECT sku FROM stock WHERE units = 0;
