CREATE STREAM calls (
  call_id STRING,
  agent STRING,
  seconds INT,
  started_at TIMESTAMP,
  WATERMARK FOR started_at AS started_at - INTERVAL '1' MINUTE
)
WITH (connector = 'kafka', topic = 'calls', brokers = 'b:9092', format = 'avro', registry = 'http://registry:8081', start = 'latest');

-- Note: SUM(seconds) / 60 keeps its fraction here: where both are whole numbers, write SUM(seconds) DIV 60 for a
--   whole number.

CREATE MATERIALIZED VIEW talk_time AS
SELECT
  agent,
  window_start,
  window_end,
  SUM(seconds) / 60 AS minutes
FROM HOP(TABLE calls, DESCRIPTOR(started_at), INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)
GROUP BY
  agent,
  window_start,
  window_end;

-- Note: primary_key = 'agent,window_start' was left out: messages are keyed by what tells the rows of the view apart,
--   or by key = '…'.

CREATE OUTLET talk_time_out FROM talk_time TO 'kafka://talk'
WITH (envelope = 'upsert', brokers = 'b:9092');

-- headwater check: ok
