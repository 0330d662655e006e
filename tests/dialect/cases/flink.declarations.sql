--- a computed column
CREATE STREAM visits (page STRING, n INT, twice AS n * 2, made_at TIMESTAMP, WATERMARK FOR made_at AS made_at)
-- says: a stream or table can't have computed columns

--- a computed event time
CREATE STREAM visits (page STRING, ms BIGINT, made_at AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND)
-- says: a stream or table can't have computed columns

--- a METADATA column
CREATE STREAM visits (page STRING, made_at TIMESTAMP METADATA FROM 'timestamp', WATERMARK FOR made_at AS made_at) WITH (connector = 'kafka', topic = 'visits')
-- says: a stream or table can't have METADATA columns

--- a METADATA column of the offset
CREATE STREAM visits (page STRING, `offset` BIGINT METADATA VIRTUAL, made_at TIMESTAMP, WATERMARK FOR made_at AS made_at) WITH (connector = 'kafka', topic = 'visits')
-- says: a stream or table can't have METADATA columns

--- a column of processing time
CREATE STREAM visits (page STRING, made_at TIMESTAMP, seen AS PROCTIME(), WATERMARK FOR made_at AS made_at)
-- says: a stream or table can't have computed columns

--- a UUID
CREATE STREAM visits (id UUID, made_at TIMESTAMP, WATERMARK FOR made_at AS made_at)
-- says: "UUID" is not a type of Spark SQL

--- a VARIANT
CREATE STREAM visits (id STRING, body VARIANT, made_at TIMESTAMP, WATERMARK FOR made_at AS made_at)
-- says: stream "visits" declares "body" as VARIANT, which the log can't keep

--- a JSONB
CREATE STREAM visits (id STRING, body JSONB, made_at TIMESTAMP, WATERMARK FOR made_at AS made_at)
-- says: "JSONB" is not a type of Spark SQL

--- CURRENT_WATERMARK
SELECT id, CURRENT_WATERMARK(made_at) AS mark FROM orders
-- says: uses CURRENT_WATERMARK, as Flink has it
-- unanswered: the watermark is ours

--- rows behind the watermark
SELECT id FROM orders WHERE CURRENT_WATERMARK(made_at) IS NULL OR made_at > CURRENT_WATERMARK(made_at)
-- says: uses CURRENT_WATERMARK, as Flink has it
-- says: uses CURRENT_WATERMARK, as Flink has it
-- duckdb: SELECT id FROM orders
