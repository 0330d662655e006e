-- Not carried over: Write CREATE STREAM … WITH (connector = 'kafka', topic = '…'), or 'folder' with a path.
-- CREATE SOURCE CONNECTOR shop WITH ('connector.class' = 'io.confluent.connect.jdbc.JdbcSourceConnector')

-- Not carried over: Write the type where it is used, like address STRUCT<city: STRING>.
-- CREATE TYPE address AS STRUCT<street VARCHAR, city VARCHAR>

-- Note: visitor is the key of a message, a INT: it is read here from the value, so let the producer write it there
--   too; message_key takes a STRING.

CREATE STREAM visits (
  visitor INT,
  headers_of MAP<STRING, BINARY>,
  page STRING,
  rowtime TIMESTAMP,
  WATERMARK FOR rowtime AS rowtime - INTERVAL '1' MILLISECOND
)
WITH (key = 'visitor', connector = 'kafka', topic = 'visits', format = 'protobuf', message_time = 'rowtime', message_headers = 'headers_of');

-- Note: WINDOWSTART, WINDOWEND and ROWTIME are instants here, in ksqlDB milliseconds: unix_millis(…) counts them.
-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET pages_out FROM pages TO
--   'kafka://PAGES'.

CREATE MATERIALIZED VIEW pages AS
SELECT
  page,
  DATE_FORMAT(rowtime, 'yyyy-MM-dd') AS day
FROM visits;

-- Not carried over: Delete the declaration from its file.
-- DROP STREAM IF EXISTS visits

-- Not carried over: Ask `headwater pause VIEW`.
-- TERMINATE ALL

-- headwater check: ok
