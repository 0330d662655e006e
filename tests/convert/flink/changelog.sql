CREATE TABLE members (
  id BIGINT,
  name VARCHAR(40),
  plan STRING COMMENT 'which fees they pay',
  PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'who may use the pool'
WITH ('connector' = 'kafka', 'topic' = 'pool.members', 'format' = 'debezium-json', 'properties.bootstrap.servers' = 'kafka-1:9092,kafka-2:9092', 'properties.security.protocol' = 'SASL_SSL', 'properties.sasl.jaas.config' = 'secret');

SET 'table.exec.state.ttl' = '36 h';

CREATE TABLE members_per_plan (plan STRING, members BIGINT, PRIMARY KEY (plan) NOT ENFORCED)
WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://db/pool', 'table-name' = 'members_per_plan');

INSERT INTO members_per_plan SELECT plan, COUNT(*) FROM members GROUP BY plan;
