CREATE STREAM clicks (
  id STRING, visitor STRING, page STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- an open session grows, and two become one: what it was before is taken back
CREATE MATERIALIZED VIEW visits WITH (emit = 'changes', horizon = '1 minute') AS
SELECT visitor, window_start, window_end, count(*) AS n, min(page) AS least
FROM SESSION(TABLE clicks PARTITION BY visitor, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY visitor, window_start, window_end;
