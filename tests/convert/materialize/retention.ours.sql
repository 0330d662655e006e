-- Note: Its watermark is a guess, since Materialize has none: say how late events can be in place of INTERVAL '5'
--   SECOND.

CREATE STREAM logins (
  person STRING,
  ok BOOLEAN,
  at TIMESTAMP,
  login_key STRING,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
)
WITH (connector = 'kafka', topic = 'logins', brokers = 'b:9092', message_key = 'login_key');

-- Note: MZ_NOW() <= at + INTERVAL '1' DAY is the retention of the view here, counted by the watermark: a row counts
--   until that has passed its time by so much.
-- Note: MZ_NOW() >= at was left out: a row counts from when it comes.

CREATE MATERIALIZED VIEW failures_today
WITH (retention = '1 day') AS
SELECT
  person,
  COUNT(*) AS failures
FROM logins
WHERE
  NOT ok
GROUP BY
  person;

-- headwater check: ok
