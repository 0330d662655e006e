CREATE TABLE plays (listener STRING, track STRING, played_at TIMESTAMP) USING parquet LOCATION 's3://music/plays';
CREATE STREAMING TABLE sittings AS
SELECT listener, session_window.start AS began, session_window.end AS ended, count(*) AS tracks
FROM STREAM(plays) WATERMARK played_at DELAY OF INTERVAL '1 hour'
GROUP BY listener, session_window(played_at, '30 minutes');
