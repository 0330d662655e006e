CREATE TABLE votes (id STRING, choice STRING, tags ARRAY<STRING>, cast_at TIMESTAMP) USING avro LOCATION '/data/votes' TBLPROPERTIES ('quality' = 'bronze');
CREATE VIEW first_tags AS SELECT id, tags[0] AS first_tag, size(tags) / 2 AS half FROM votes;
CREATE MATERIALIZED VIEW choices PARTITIONED BY (choice) AS SELECT choice, count(DISTINCT id) AS votes FROM votes GROUP BY choice;
