CREATE TABLE seats (
  id BIGINT NOT NULL,
  hall STRING,
  taken BOOLEAN,
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'cinema.seats', brokers = 'b:9092', envelope = 'debezium', start = '2026-01-01T00:00:00+00:00');

CREATE MATERIALIZED VIEW taken_seats AS
SELECT
  hall,
  COUNT(*) AS taken
FROM seats
WHERE
  taken
GROUP BY
  hall;

CREATE MATERIALIZED VIEW hall_hook AS
SELECT
  hall,
  taken
FROM taken_seats
WHERE
  taken > 100;

-- Not carried over: 'jdbc' is nothing that outlets write to: serve it from a store, store = '…' with [stores.…] in
--   headwater.toml.
-- CREATE SINK hall_hook AS SELECT hall, taken FROM taken_seats WHERE taken > 100 WITH (connector = 'jdbc', jdbc.url = 'jdbc:postgresql://db/x', table.name = 'halls', type = 'upsert', primary_key = 'hall')

-- headwater check: ok
