CREATE STREAM sent (
  mail STRING,
  sent_at TIMESTAMP,
  WATERMARK FOR sent_at AS sent_at - INTERVAL '1' MINUTE
)
WITH (connector = 'kafka', topic = 'sent', brokers = 'b:9092');

CREATE STREAM opened (
  mail STRING,
  opened_at TIMESTAMP,
  WATERMARK FOR opened_at AS opened_at - INTERVAL '1' MINUTE
)
WITH (connector = 'kafka', topic = 'opened', brokers = 'b:9092');

CREATE MATERIALIZED VIEW read_mails AS
SELECT
  s.mail,
  s.sent_at,
  o.opened_at
FROM sent AS s
JOIN opened AS o
  ON s.mail = o.mail
  AND o.opened_at BETWEEN s.sent_at AND s.sent_at + INTERVAL '3' DAY;

-- headwater check: ok
