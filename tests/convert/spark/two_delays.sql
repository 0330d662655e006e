CREATE TABLE pings (host STRING, ms INT, at TIMESTAMP) USING json OPTIONS (path '/data/pings', pathGlobFilter '*.jsonl');
CREATE MATERIALIZED VIEW per_minute AS SELECT host, window.start AS minute, avg(ms) AS ms FROM STREAM(pings) WATERMARK at DELAY OF INTERVAL 30 SECONDS GROUP BY host, window(at, '1 minute');
CREATE MATERIALIZED VIEW per_day AS SELECT host, window.start AS day, max(ms) AS ms FROM STREAM(pings) WATERMARK at DELAY OF INTERVAL 1 HOUR GROUP BY host, window(at, '1 day');
