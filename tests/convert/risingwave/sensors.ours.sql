-- Note: rw_partition takes 'partition' of a message: the log keeps where an event came from: write _source, _commit
--   or _row in a query.
-- Note: 'properties.sasl.password' = '…' was left out. Put it into headwater.toml: [kafka.main] "sasl.password" =
--   "…".

-- What the greenhouses measure.
CREATE STREAM sensors (
  sensor_id STRING,
  bed INT,
  moisture DOUBLE,
  note STRING,
  measured_at TIMESTAMP,
  received_at TIMESTAMP,
  WATERMARK FOR measured_at AS measured_at - INTERVAL '10' SECOND
)
WITH (connector = 'kafka', topic = 'greenhouse.sensors', brokers = 'broker:9092', message_time = 'received_at');

CREATE MATERIALIZED VIEW moisture_per_minute
WITH (emit = 'final') AS
SELECT
  bed,
  window_start,
  CAST(AVG(moisture) AS DECIMAL(6, 2)) AS moisture,
  COUNT(*) FILTER(WHERE
    moisture < 0.2) AS dry
FROM TUMBLE(TABLE sensors, DESCRIPTOR(measured_at), INTERVAL '1' MINUTE)
GROUP BY
  bed,
  window_start,
  window_end;

-- headwater check: ok
-- approximate-value ours.sql:23:8: view "moisture_per_minute" aggregates with "avg", whose value may differ between executions
