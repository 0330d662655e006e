CREATE STREAM plays (
  listener STRING,
  track STRING,
  played_at TIMESTAMP,
  WATERMARK FOR played_at AS played_at - INTERVAL '1' HOUR
)
WITH (connector = 'folder', path = 's3://music/plays', format = 'parquet');

CREATE MATERIALIZED VIEW sittings AS
SELECT
  listener,
  window_start AS began,
  window_end AS ended,
  COUNT(*) AS tracks
FROM SESSION(TABLE plays PARTITION BY listener, DESCRIPTOR(played_at), INTERVAL '30' MINUTE) AS plays
GROUP BY
  listener,
  window_start,
  window_end;

-- headwater check: ok
