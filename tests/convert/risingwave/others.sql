CREATE SECRET broker_password WITH (backend = 'meta') AS 'x';
CREATE CONNECTION c WITH (type = 'kafka', properties.bootstrap.server = 'b:9092');
CREATE SINK archive FROM nothing WITH (connector = 'iceberg', warehouse.path = 's3://lake');
CREATE FUNCTION gcd(int, int) RETURNS int LANGUAGE python AS gcd USING LINK 'http://localhost:8815';
CREATE SOURCE load (v int) WITH (connector = 'datagen', fields.v.kind = 'sequence', datagen.rows.per.second = '5') FORMAT PLAIN ENCODE JSON;
DROP MATERIALIZED VIEW old_view;
ALTER TABLE load ADD COLUMN w int;
CREATE MATERIALIZED VIEW twice AS SELECT v * 2 AS doubled, now() AS asked_at FROM load;
