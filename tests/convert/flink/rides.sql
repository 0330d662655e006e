-- what riders pay
CREATE TABLE rides (
  ride_id STRING, city STRING, fare DECIMAL(8,2), seats INT, tags ARRAY<STRING>,
  ended_at TIMESTAMP(3), kafka_ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  part INT METADATA FROM 'partition' VIRTUAL,
  proc AS PROCTIME(),
  tip AS fare * 0.1,
  WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND
) WITH ('connector'='kafka','topic'='rides','properties.bootstrap.servers'='k:9092','properties.group.id'='g','scan.startup.mode'='earliest-offset','format'='json','scan.parallelism'='4');
CREATE TABLE city_fares (city STRING, at TIMESTAMP(3), total DECIMAL(10,2), PRIMARY KEY (city, at) NOT ENFORCED) WITH ('connector'='upsert-kafka','topic'='fares','key.format'='json','value.format'='json','properties.bootstrap.servers'='k:9092');
INSERT INTO city_fares SELECT city, window_start, SUM(fare) FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '1' MINUTES)) GROUP BY city, window_start, window_end;
CREATE TABLE out2 (city STRING, n BIGINT) WITH ('connector'='print');
INSERT INTO out2 SELECT city, COUNT(*) FROM rides GROUP BY city;
CREATE VIEW seats AS SELECT ride_id, tags[1] AS first_tag, seats / 2 AS half, proc FROM rides;
CREATE CATALOG c WITH ('type'='hive');
SET 'parallelism.default' = '2';
