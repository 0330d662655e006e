-- What the greenhouses measure.
CREATE SOURCE IF NOT EXISTS sensors (
  sensor_id varchar,
  bed integer,
  moisture double precision,
  note character varying,
  measured_at timestamptz,
  WATERMARK FOR measured_at AS measured_at - INTERVAL '10 seconds'
) INCLUDE timestamp AS received_at
INCLUDE partition
WITH (
  connector = 'kafka',
  topic = 'greenhouse.sensors',
  properties.bootstrap.server = 'broker:9092',
  scan.startup.mode = 'earliest',
  properties.sasl.password = 'geheim'
) FORMAT PLAIN ENCODE JSON;

CREATE MATERIALIZED VIEW moisture_per_minute AS
SELECT bed, window_start, avg(moisture)::numeric(6, 2) AS moisture, count(*) FILTER (WHERE moisture < 0.2) AS dry
FROM tumble(sensors, measured_at, INTERVAL '1 minute')
GROUP BY bed, window_start, window_end
EMIT ON WINDOW CLOSE;
