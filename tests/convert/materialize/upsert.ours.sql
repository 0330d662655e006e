CREATE TABLE accounts (
  id STRING NOT NULL,
  owner STRING,
  limits STRING,
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'accounts', brokers = 'b:9092', message_key = 'id');

CREATE TABLE branches (
  id STRING NOT NULL,
  town STRING,
  PRIMARY KEY (id)
)
WITH (connector = 'kafka', topic = 'branches', brokers = 'b:9092');

CREATE MATERIALIZED VIEW per_town AS
SELECT
  town,
  COUNT(*) AS branches
FROM branches
GROUP BY
  town;

-- headwater check: ok
