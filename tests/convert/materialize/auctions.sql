CREATE SECRET kafka_password AS 'x';
CREATE CONNECTION kafka_conn TO KAFKA (BROKER 'broker:9092', SASL PASSWORD = SECRET kafka_password);
CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL 'http://registry:8081');
-- Offers of an auction, as they come.
CREATE SOURCE offers (item text, offer numeric(12, 2), offered_at timestamptz)
FROM KAFKA CONNECTION kafka_conn (TOPIC 'offers')
FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr
INCLUDE TIMESTAMP AS received_at
ENVELOPE NONE;
CREATE MATERIALIZED VIEW best IN CLUSTER quick AS
SELECT item, max(offer) AS offer, count(*) AS offers FROM offers GROUP BY item;
