CREATE STREAM visits (
  id STRING, who STRING, place STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE MATERIALIZED VIEW per_pair WITH (emit = 'changes') AS
SELECT who, place, window_end, count(*) AS n, max(id) AS newest
FROM TUMBLE(TABLE visits, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY who, place, window_end;
