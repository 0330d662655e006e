CREATE STREAM lines (
  `text` STRING,
  `timestamp` TIMESTAMP
)
WITH (connector = 'kafka', topic = 'lines', brokers = 'b:9092', format = 'raw', message_value = 'text', message_time = 'timestamp');

CREATE STREAM blobs (
  data BINARY
)
WITH (connector = 'kafka', topic = 'blobs', brokers = 'b:9092', format = 'raw', message_value = 'data');

-- Note: LENGTH(`text`) / 2 keeps its fraction here: where both are whole numbers, write LENGTH(`text`) DIV 2 for a
--   whole number.

CREATE VIEW errors AS
SELECT
  `text`,
  LOCATE('error', `text`) AS at,
  LENGTH(`text`) / 2 AS half
FROM lines
WHERE
  `text` ILIKE '%error%';

-- headwater check: ok
