-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE shipments (
  id INT NOT NULL,
  ship_to STRING,
  weight DECIMAL(8, 3),
  PRIMARY KEY (id)
)
WITH (connector = 'postgres', url = 'postgresql://reader:${PASSWORD}@db.internal:5433/harbour', table = 'logistics.shipments', slot = 'hw');

-- Note: connector 'mysql-cdc' has no counterpart. Let Debezium write to Kafka: connector = 'kafka', envelope =
--   'debezium'.

CREATE TABLE berths (
  id INT NOT NULL,
  ship STRING,
  PRIMARY KEY (id)
);

CREATE VIEW heavy AS
SELECT
  id,
  ship_to
FROM shipments
WHERE
  weight > 1000;

-- headwater check: ok
