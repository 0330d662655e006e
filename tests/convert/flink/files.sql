CREATE TABLE meters (meter STRING, kwh DOUBLE, read_at TIMESTAMP(3), WATERMARK FOR read_at AS read_at) PARTITIONED BY (meter)
WITH ('connector' = 'filesystem', 'path' = 'file:///srv/meters', 'format' = 'csv', 'csv.field-delimiter' = ';', 'source.monitor-interval' = '10 s');
CREATE TABLE daily (meter STRING, day_start TIMESTAMP(3), kwh DOUBLE) WITH ('connector' = 'filesystem', 'path' = 's3://lake/daily', 'format' = 'parquet');
INSERT INTO daily
SELECT meter, window_start, SUM(kwh) FROM TABLE(CUMULATE(TABLE meters, DESCRIPTOR(read_at), INTERVAL '1' HOUR, INTERVAL '1' DAY))
GROUP BY meter, window_start, window_end;
