SET 'auto.offset.reset' = 'earliest';
CREATE STREAM north (id VARCHAR KEY, units INT, tags ARRAY<VARCHAR>) WITH (KAFKA_TOPIC = 'north', VALUE_FORMAT = 'JSON');
CREATE STREAM south (id VARCHAR KEY, units INT, tags ARRAY<VARCHAR>) WITH (KAFKA_TOPIC = 'south', VALUE_FORMAT = 'JSON');
CREATE STREAM everywhere AS SELECT id, units, tags[1] AS first_tag, 'north' AS region FROM north EMIT CHANGES;
INSERT INTO everywhere SELECT id, units, tags[1] AS first_tag, 'south' AS region FROM south EMIT CHANGES;
INSERT INTO north (id, units) VALUES ('n-1', 3);
