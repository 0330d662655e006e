CREATE STREAM clicks (page VARCHAR KEY, at BIGINT, visitor BIGINT)
  WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = ';', TIMESTAMP = 'at', REPLICAS = 3);
CREATE STREAM long_pages AS SELECT page, LEN(page) AS letters, visitor / 2 AS half FROM clicks EMIT CHANGES;
