-- Not carried over: Put it into the environment, and name it in headwater.toml as ${NAME}.
-- CREATE SECRET kafka_password AS 'x'

-- Note: 'saslpassword' = '…' was left out. There is no such option here.

-- Offers of an auction, as they come.
CREATE STREAM offers (
  item STRING,
  offer DECIMAL(12, 2),
  offered_at TIMESTAMP,
  received_at TIMESTAMP
)
WITH (connector = 'kafka', topic = 'offers', brokers = 'broker:9092', format = 'avro', registry = 'http://registry:8081', message_time = 'received_at');

CREATE MATERIALIZED VIEW best AS
SELECT
  item,
  MAX(offer) AS offer,
  COUNT(*) AS offers
FROM offers
GROUP BY
  item;

-- headwater check: ok
-- held-for-ever ours.sql:15:1: view "best" holds every row of stream "offers" for ever, which declares no watermark
