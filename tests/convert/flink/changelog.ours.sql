-- Note: 'properties.security.protocol' = 'SASL_SSL' was left out. Put it into headwater.toml: [kafka.main]
--   "security.protocol" = "…".
-- Note: 'properties.sasl.jaas.config' = '…' was left out. Put it into headwater.toml: [kafka.main] "sasl.jaas.config"
--   = "…".

-- who may use the pool
CREATE TABLE members (
  id BIGINT NOT NULL,
  name STRING,
  plan STRING COMMENT 'which fees they pay',
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'pool.members', brokers = 'kafka-1:9092,kafka-2:9092', envelope = 'debezium');

-- Note: 'jdbc' is nothing that outlets write to: serve it from a store, store = '…' with [stores.…] in
--   headwater.toml.

CREATE MATERIALIZED VIEW members_per_plan AS
SELECT
  plan,
  COUNT(*) AS members
FROM members
GROUP BY
  plan;

-- headwater check: ok
