CREATE STREAM readings (
  sensor STRING, value DOUBLE, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '0.1' SECOND
);
CREATE MATERIALIZED VIEW quarters WITH (emit = 'final') AS
SELECT sensor, window_start, window_end, count(*) AS n, max(value) AS most
FROM TUMBLE(TABLE readings, DESCRIPTOR(made_at), INTERVAL '0.25' SECOND)
GROUP BY sensor, window_start, window_end;
