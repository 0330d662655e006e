CREATE STREAM raw_events (
  data STRING
)
WITH (connector = 'kafka', topic = 'events', brokers = 'b:9092', format = 'raw', message_value = 'data');

CREATE VIEW events AS
SELECT
  GET_JSON_OBJECT(data, '$.user') AS who,
  CAST((
    GET_JSON_OBJECT(data, '$.amount')
  ) AS DECIMAL(10, 2)) AS amount,
  CAST((
    GET_JSON_OBJECT(data, '$.at')
  ) AS TIMESTAMP) AS at
FROM raw_events;

-- headwater check: ok
