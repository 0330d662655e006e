-- Note: ts can't be the event time: it is computed (TO_TIMESTAMP_LTZ(epoch, 3)), and an instant is read from text in
--   ISO 8601, not from a number. Let the producer write ts so and declare it TIMESTAMP, or take Kafka's own time: ts
--   TIMESTAMP, message_time = 'ts'. Then declare WATERMARK FOR ts AS ts - INTERVAL '1' SECOND.

CREATE STREAM beats_events (
  heart STRING,
  epoch BIGINT,
  bpm INT
)
WITH (connector = 'kafka', topic = 'beats', start = '0:42, 1:300');

CREATE VIEW beats AS
SELECT
  *,
  TIMESTAMP_MILLIS(epoch) AS ts
FROM beats_events;

-- Note: AVG(bpm) keeps its fraction here: where it is of whole numbers, Flink's is a whole number.

CREATE VIEW fast AS
SELECT
  heart,
  ts,
  AVG(bpm) OVER (PARTITION BY heart ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS mean
FROM beats;

-- headwater check: ok
