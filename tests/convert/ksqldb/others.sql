CREATE SOURCE CONNECTOR shop WITH ('connector.class' = 'io.confluent.connect.jdbc.JdbcSourceConnector');
CREATE TYPE address AS STRUCT<street VARCHAR, city VARCHAR>;
CREATE STREAM visits (visitor INT KEY, headers_of ARRAY<STRUCT<key VARCHAR, value BYTES>> HEADERS, page VARCHAR)
  WITH (KAFKA_TOPIC = 'visits', VALUE_FORMAT = 'PROTOBUF', KEY_FORMAT = 'KAFKA');
CREATE STREAM pages AS SELECT page, TIMESTAMPTOSTRING(ROWTIME, 'yyyy-MM-dd') AS day FROM visits EMIT CHANGES;
DROP STREAM IF EXISTS visits;
TERMINATE ALL;
