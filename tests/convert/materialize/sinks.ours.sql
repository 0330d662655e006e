CREATE TABLE tickets (
  id STRING NOT NULL,
  state STRING,
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'tickets', brokers = 'b:9092', envelope = 'debezium');

CREATE MATERIALIZED VIEW open_tickets AS
SELECT
  state,
  COUNT(*) AS tickets
FROM tickets
WHERE
  state <> 'closed'
GROUP BY
  state;

CREATE OUTLET open_tickets_out FROM open_tickets TO 'kafka://open-tickets'
WITH (envelope = 'upsert', key = 'state', brokers = 'b:9092');

CREATE OUTLET open_changes FROM open_tickets TO 'kafka://open-changes'
WITH (envelope = 'debezium', format = 'avro', brokers = 'b:9092');

-- headwater check: ok
