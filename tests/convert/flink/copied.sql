CREATE TABLE shipments (id INT, ship_to STRING, weight DECIMAL(8, 3), PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'postgres-cdc', 'hostname' = 'db.internal', 'port' = '5433', 'username' = 'reader', 'password' = 'hunter2',
  'database-name' = 'harbour', 'schema-name' = 'logistics', 'table-name' = 'shipments', 'slot.name' = 'hw', 'decoding.plugin.name' = 'pgoutput');
CREATE TABLE berths (id INT, ship STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'mysql-cdc', 'hostname' = 'db', 'port' = '3306', 'username' = 'u', 'password' = 'p', 'database-name' = 'harbour', 'table-name' = 'berths');
CREATE VIEW heavy AS SELECT id, ship_to FROM shipments WHERE weight > 1000;
