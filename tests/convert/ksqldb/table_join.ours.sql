CREATE TABLE customers (
  id STRING NOT NULL,
  name STRING,
  tier STRING,
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'customers', message_key = 'id');

-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET tiers_out FROM tiers TO
--   'kafka://TIERS'.

CREATE MATERIALIZED VIEW tiers AS
SELECT
  tier,
  COUNT(*) AS customers
FROM customers
GROUP BY
  tier;

-- headwater check: ok
