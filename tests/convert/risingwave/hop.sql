CREATE TABLE calls (call_id varchar, agent varchar, seconds int, started_at timestamp, WATERMARK FOR started_at AS started_at - INTERVAL '1 minute')
APPEND ONLY WITH (connector = 'kafka', topic = 'calls', properties.bootstrap.server = 'b:9092', scan.startup.mode = 'latest')
FORMAT PLAIN ENCODE AVRO (schema.registry = 'http://registry:8081');
CREATE MATERIALIZED VIEW talk_time AS
SELECT agent, window_start, window_end, sum(seconds) / 60 AS minutes
FROM hop(calls, started_at, INTERVAL '5 minutes', INTERVAL '15 minutes')
GROUP BY agent, window_start, window_end;
CREATE SINK talk_time_out FROM talk_time WITH (connector = 'kafka', topic = 'talk', properties.bootstrap.server = 'b:9092', primary_key = 'agent,window_start')
FORMAT UPSERT ENCODE JSON;
