CREATE TABLE alarms (device STRING, level INT, raised_at TIMESTAMP_LTZ(3), WATERMARK FOR raised_at AS raised_at - INTERVAL '2' SECOND)
WITH ('connector' = 'kafka', 'topic-pattern' = 'alarms-.*', 'format' = 'json', 'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '1767225600000', 'scan.watermark.idle-timeout' = '1 min');
CREATE TABLE pages (device STRING, level INT) WITH ('connector' = 'kafka', 'topic' = 'pages', 'format' = 'json');
EXECUTE STATEMENT SET
BEGIN
INSERT INTO pages SELECT device, level FROM alarms WHERE level >= 8;
INSERT INTO pages SELECT device, level * 10 FROM alarms WHERE level = 7;
END;
