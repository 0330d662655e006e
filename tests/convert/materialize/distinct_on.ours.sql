CREATE STREAM moves (
  piece STRING,
  field STRING,
  moved_at TIMESTAMP
)
WITH (connector = 'kafka', topic = 'moves', brokers = 'b:9092');

CREATE MATERIALIZED VIEW places AS
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
-- held-for-ever ours.sql:8:1: view "places" holds every row of stream "moves" for ever, which declares no watermark
