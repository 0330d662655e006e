CREATE STREAM trades (
  id STRING,
  currency STRING,
  amount DECIMAL(12, 2),
  made_at TIMESTAMP,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' MINUTE
)
WITH (connector = 'kafka', topic = 'trades', format = 'avro', registry = 'http://registry:8081');

CREATE TABLE rates (
  currency STRING NOT NULL,
  rate DECIMAL(12, 6),
  since TIMESTAMP,
  WATERMARK FOR since AS since,
  PRIMARY KEY (currency)
)
WITH (connector = 'kafka', topic = 'rates');

CREATE MATERIALIZED VIEW in_euro AS
SELECT
  t.id,
  t.amount * r.rate AS euro
FROM trades AS t
JOIN rates FOR SYSTEM_TIME AS OF t.made_at AS r
  ON t.currency = r.currency;

CREATE OUTLET in_euro_out FROM in_euro TO 'kafka://trades.euro'
WITH (envelope = 'row');

CREATE VIEW as_seen AS
SELECT
  t.id,
  r.rate
FROM trades AS t
LEFT JOIN rates FOR SYSTEM_TIME AS OF t._arrived_at AS r
  ON t.currency = r.currency;

-- headwater check: ok
