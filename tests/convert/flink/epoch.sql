CREATE TABLE beats (heart STRING, epoch BIGINT, bpm INT,
  ts AS TO_TIMESTAMP_LTZ(epoch, 3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'beats', 'format' = 'json', 'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:42;partition:1,offset:300');
CREATE VIEW fast AS SELECT heart, ts, AVG(bpm) OVER (PARTITION BY heart ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS mean FROM beats;
