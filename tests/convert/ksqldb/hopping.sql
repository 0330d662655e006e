CREATE STREAM doors (door VARCHAR KEY, opened_at VARCHAR, seconds INT)
  WITH (KAFKA_TOPIC = 'doors', VALUE_FORMAT = 'JSON', TIMESTAMP = 'opened_at', TIMESTAMP_FORMAT = 'yyyy-MM-dd HH:mm:ss');

CREATE TABLE doors_open AS
  SELECT door, SUM(seconds) AS open_for, AVG(seconds) AS mean
  FROM doors
  WINDOW HOPPING (SIZE 30 MINUTES, ADVANCE BY 10 MINUTES)
  WHERE seconds > 0
  GROUP BY door
  HAVING COUNT(*) > 2
  EMIT FINAL;
