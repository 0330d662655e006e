CREATE STREAM readings (id STRING, code STRING, read_at TIMESTAMP NOT NULL, WATERMARK FOR read_at AS read_at - INTERVAL '5' SECOND);
CREATE STREAM sensors (number INT, read_at TIMESTAMP NOT NULL, WATERMARK FOR read_at AS read_at - INTERVAL '5' SECOND);

-- how often each sensor was read in a window: '1' and '01' are one number
CREATE MATERIALIZED VIEW read WITH (emit = 'final') AS
SELECT number, window_end, (
  SELECT count(*) FROM TUMBLE(TABLE readings, DESCRIPTOR(read_at), INTERVAL '10' SECOND) AS r
  WHERE r.window_end = s.window_end AND r.code = s.number) AS readings
FROM TUMBLE(TABLE sensors, DESCRIPTOR(read_at), INTERVAL '10' SECOND) AS s;
