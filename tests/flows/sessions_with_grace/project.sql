CREATE STREAM clicks (
  id STRING, visitor STRING, page STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW visits WITH (grace = '8 seconds') AS
SELECT visitor, window_start, window_end, count(*) AS n
FROM SESSION(TABLE clicks PARTITION BY visitor, DESCRIPTOR(made_at), INTERVAL '5' SECOND)
GROUP BY visitor, window_start, window_end;
