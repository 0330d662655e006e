CREATE STREAM moves (
  piece STRING,
  field STRING,
  moved_at TIMESTAMP
)
WITH (connector = 'kafka', topic = 'moves', brokers = 'b:9092');

-- Note: It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go.

CREATE MATERIALIZED VIEW places
WITH (retention = 'forever') AS
SELECT DISTINCT ON (piece)
  piece,
  field,
  moved_at
FROM moves
ORDER BY
  piece NULLS LAST,
  moved_at DESC NULLS FIRST;

-- Not carried over: Say what a store finds rows by with the view: WITH (index = 'customer').
-- CREATE INDEX places_by_field IN CLUSTER quick ON places (field)

-- headwater check: ok
