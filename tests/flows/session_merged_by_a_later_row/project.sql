CREATE STREAM clicks (
  id STRING, visitor STRING, page STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

-- row 5 joins what were two sessions, row 8 would have and is late
CREATE MATERIALIZED VIEW visits AS
SELECT visitor, window_start, window_end, count(*) AS n, collect_list(id) AS ids
FROM SESSION(TABLE clicks PARTITION BY visitor, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY visitor, window_start, window_end;
