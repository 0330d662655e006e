-- Note: at can't be the event time: it is a BIGINT, and an instant is read from text in ISO 8601, not from a number.
--   Let the producer write it so and declare at TIMESTAMP and WATERMARK FOR at AS at - INTERVAL '0.001' SECOND.

CREATE STREAM clicks (
  page STRING,
  at BIGINT,
  visitor BIGINT
)
WITH (key = 'page', connector = 'kafka', topic = 'clicks', format = 'csv', delimiter = ';', message_key = 'page');

-- Note: visitor / 2 keeps its fraction here: where both are whole numbers, write visitor DIV 2 for a whole number.
-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET long_pages_out FROM long_pages TO
--   'kafka://LONG_PAGES'.

CREATE MATERIALIZED VIEW long_pages AS
SELECT
  page,
  LENGTH(page) AS letters,
  visitor / 2 AS half
FROM clicks;

-- headwater check: ok
