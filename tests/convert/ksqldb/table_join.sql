CREATE TABLE customers (id VARCHAR PRIMARY KEY, name VARCHAR, tier VARCHAR)
  WITH (KAFKA_TOPIC = 'customers', VALUE_FORMAT = 'JSON');
CREATE TABLE tiers AS
  SELECT tier, COUNT(*) AS customers
  FROM customers
  GROUP BY tier
  EMIT CHANGES;
