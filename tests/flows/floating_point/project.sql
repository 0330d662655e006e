CREATE STREAM readings (
  sensor STRING, value DOUBLE, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE MATERIALIZED VIEW spread WITH (emit = 'final') AS
SELECT sensor, window_end, sum(value) AS total, avg(value) AS mean, stddev_samp(value) AS deviation,
  max(value) - min(value) AS breadth, percentile(value, 0.5) AS middle
FROM TUMBLE(TABLE readings, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY sensor, window_end;
