CREATE STREAM taps (
  card STRING,
  gate STRING,
  rowtime TIMESTAMP,
  WATERMARK FOR rowtime AS rowtime - INTERVAL '1' MILLISECOND
)
WITH (key = 'card', connector = 'kafka', topic = 'taps', message_key = 'card', message_time = 'rowtime');

-- Note: WINDOWSTART, WINDOWEND and ROWTIME are instants here, in ksqlDB milliseconds: unix_millis(…) counts them.
-- Note: ksqlDB writes it to a topic as well; if somebody reads that: CREATE OUTLET trips_out FROM trips TO
--   'kafka://TRIPS'.

CREATE MATERIALIZED VIEW trips
WITH (grace = '1 minute') AS
SELECT
  card,
  COUNT(*) AS taps,
  window_start AS began,
  window_end AS ended
FROM SESSION(TABLE taps PARTITION BY card, DESCRIPTOR(rowtime), INTERVAL '20' MINUTE) AS taps
GROUP BY
  card,
  window_start,
  window_end;

-- headwater check: ok
