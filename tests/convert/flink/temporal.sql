CREATE TABLE trades (id STRING, currency STRING, amount DECIMAL(12, 2), made_at TIMESTAMP(3), seen AS PROCTIME(),
  WATERMARK FOR made_at AS made_at - INTERVAL '1' MINUTE) WITH ('connector' = 'kafka', 'topic' = 'trades', 'format' = 'avro-confluent', 'avro-confluent.url' = 'http://registry:8081');
CREATE TABLE rates (currency STRING, rate DECIMAL(12, 6), since TIMESTAMP(3), PRIMARY KEY (currency) NOT ENFORCED,
  WATERMARK FOR since AS since) WITH ('connector' = 'upsert-kafka', 'topic' = 'rates', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE in_euro (id STRING, euro DECIMAL(20, 6)) WITH ('connector' = 'kafka', 'topic' = 'trades.euro', 'format' = 'json');
INSERT INTO in_euro SELECT t.id, t.amount * r.rate FROM trades AS t
  JOIN rates FOR SYSTEM_TIME AS OF t.made_at AS r ON t.currency = r.currency;
CREATE VIEW as_seen AS SELECT t.id, r.rate FROM trades AS t
  LEFT JOIN rates FOR SYSTEM_TIME AS OF t.seen AS r ON t.currency = r.currency;
