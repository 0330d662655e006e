--- EMIT CHANGES of an inline view
CREATE VIEW v AS SELECT id FROM orders EMIT CHANGES;
-- finding: emits nothing: it isn't materialized
-- hint: Write CREATE MATERIALIZED VIEW, or leave EMIT out.
-- mend:  EMIT CHANGES ==> 

--- CREATE STREAM with KAFKA_TOPIC
CREATE STREAM visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (KAFKA_TOPIC = 'visits', VALUE_FORMAT = 'JSON');
-- finding: has no option "KAFKA_TOPIC"
-- hint: Write connector = 'kafka', topic = '…'.
-- finding: has no option "VALUE_FORMAT"
-- hint: Write format = 'json'.
-- mend: KAFKA_TOPIC = 'visits', VALUE_FORMAT = 'JSON' ==> connector = 'kafka', topic = 'visits', format = 'json'

--- TIMESTAMP option
CREATE STREAM visits (page STRING, at TIMESTAMP) WITH (TIMESTAMP = 'at');
-- finding: has no option "TIMESTAMP"
-- hint: Write WATERMARK FOR at AS at - INTERVAL '5' SECOND among the columns.
-- mend: at TIMESTAMP) WITH (TIMESTAMP = 'at') ==> at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)

--- KEY column
CREATE STREAM visits (page STRING KEY, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: a stream or table can't have KEY
-- hint: Write PRIMARY KEY in a table, or WITH (key = '…') in a stream.
-- mend:  KEY ==> 
-- mend:  at AS at) ==>  at AS at) WITH (key = 'page')

--- WINDOWSTART
SELECT WINDOWSTART AS t, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_start;
-- finding: reads an unknown column "WINDOWSTART"
-- hint: Did you mean "window_start"?
-- mend: WINDOWSTART AS t ==> window_start

--- LATEST_BY_OFFSET
SELECT customer, window_end, LATEST_BY_OFFSET(amount) AS last FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: calls an unknown function "LATEST_BY_OFFSET"
-- hint: Write last(amount).
-- mend: LATEST_BY_OFFSET(amount) ==> last(amount)

--- EARLIEST_BY_OFFSET
SELECT customer, window_end, EARLIEST_BY_OFFSET(amount) AS first FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: calls an unknown function "EARLIEST_BY_OFFSET"
-- hint: Write first(amount).
-- mend: EARLIEST_BY_OFFSET(amount) ==> first(amount)

--- COLLECT_LIST is Spark's, TOPK is not
SELECT window_end, TOPK(amount, 3) AS top FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "TOPK"
-- hint: Write slice(sort_array(collect_list(amount), false), 1, 3).
-- mend: TOPK(amount, 3) ==> slice(sort_array(collect_list(amount), false), 1, 3)

--- TOPKDISTINCT
SELECT window_end, TOPKDISTINCT(amount, 3) AS top FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "TOPKDISTINCT"
-- hint: Write slice(sort_array(collect_set(amount), false), 1, 3).
-- mend: TOPKDISTINCT(amount, 3) ==> slice(sort_array(collect_set(amount), false), 1, 3)

--- COUNT_DISTINCT
SELECT window_end, COUNT_DISTINCT(customer) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "COUNT_DISTINCT"
-- hint: Write count(DISTINCT customer).
-- mend: COUNT_DISTINCT(customer) ==> count(DISTINCT customer)

--- HISTOGRAM
SELECT window_end, HISTOGRAM(customer) AS h FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "HISTOGRAM"
-- hint: Group by the value as well, and count: SELECT window_end, customer, count(*) AS n … GROUP BY window_end,

--- EXTRACTJSONFIELD
SELECT id, EXTRACTJSONFIELD(body, '$.city') AS city FROM orders;
-- finding: calls an unknown function "EXTRACTJSONFIELD"
-- hint: Write get_json_object(body, '$.city').
-- mend: EXTRACTJSONFIELD(body, '$.city') ==> get_json_object(body, '$.city')

--- TIMESTAMPTOSTRING
SELECT id, TIMESTAMPTOSTRING(quantity, 'yyyy') AS y FROM orders;
-- finding: calls an unknown function "TIMESTAMPTOSTRING"
-- hint: Write date_format(timestamp_millis(quantity), 'yyyy').
-- mend: TIMESTAMPTOSTRING(quantity, 'yyyy') ==> date_format(timestamp_millis(quantity), 'yyyy')

--- STRINGTOTIMESTAMP
SELECT id, STRINGTOTIMESTAMP(body, 'yyyy') AS y FROM orders;
-- finding: calls an unknown function "STRINGTOTIMESTAMP"
-- hint: Write unix_millis(to_timestamp(body, 'yyyy')).
-- mend: STRINGTOTIMESTAMP(body, 'yyyy') ==> unix_millis(to_timestamp(body, 'yyyy'))

--- FORMAT_TIMESTAMP
SELECT id, FORMAT_TIMESTAMP(at, 'yyyy') AS y FROM orders;
-- finding: calls an unknown function "FORMAT_TIMESTAMP"
-- hint: Write date_format(at, 'yyyy').
-- mend: FORMAT_TIMESTAMP(at, 'yyyy') ==> date_format(at, 'yyyy')

--- PARSE_TIMESTAMP
SELECT id, PARSE_TIMESTAMP(body, 'yyyy') AS y FROM orders;
-- finding: calls an unknown function "PARSE_TIMESTAMP"
-- hint: Write to_timestamp(body, 'yyyy').
-- mend: PARSE_TIMESTAMP(body, 'yyyy') ==> to_timestamp(body, 'yyyy')

--- UCASE is Spark's; LEN is; IFNULL is; ARRAY_LENGTH is not
SELECT id, ARRAY_LENGTH(items) AS n FROM orders;
-- finding: calls an unknown function "ARRAY_LENGTH"
-- hint: Write size(items).
-- mend: ARRAY_LENGTH(items) ==> size(items)

--- AS_VALUE
SELECT id, AS_VALUE(customer) AS customer FROM orders;
-- finding: calls an unknown function "AS_VALUE"
-- hint: Write customer.
-- mend: AS_VALUE(customer) ==> customer

--- PARTITION BY of a stream
SELECT id, customer FROM orders PARTITION BY customer EMIT CHANGES;
-- finding: uses PARTITION BY of a stream, as ksqlDB has it
-- hint: Leave it out: rows of a view are not partitioned; whom events are about is key = '…' of the stream.
-- mend:  PARTITION BY customer ==> 

--- PRINT
PRINT orders FROM BEGINNING;
-- finding: "PRINT" doesn't start a declaration
-- hint: Ask `headwater tail STREAM`, or `headwater watch VIEW`.

--- SHOW STREAMS
SHOW STREAMS;
-- finding: "SHOW" doesn't start a declaration
-- hint: Ask `headwater status`, or `headwater graph`.

--- TERMINATE
TERMINATE QUERY q;
-- finding: "TERMINATE" doesn't start a declaration
-- hint: Ask `headwater pause VIEW`.

--- DESCRIBE
DESCRIBE orders;
-- finding: "DESCRIBE" doesn't start a declaration
-- hint: Ask `headwater explain VIEW`, or `headwater graph` for all of them.

--- CREATE OR REPLACE STREAM
CREATE OR REPLACE STREAM visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: a declaration can't be replaced by another
-- hint: Leave OR REPLACE out and edit the declaration; the project is what its files say.
-- mend: OR REPLACE  ==> 

--- CREATE TYPE
CREATE TYPE address AS STRUCT<city STRING>;
-- finding: CREATE TYPE declares nothing here
-- hint: Write the type where it is used, like address STRUCT<city: STRING>.

--- CREATE SOURCE CONNECTOR
CREATE SOURCE CONNECTOR jdbc WITH ('connector.class' = 'Jdbc');
-- finding: CREATE CONNECTOR declares nothing here
-- hint: Write CREATE STREAM … WITH (connector = 'kafka', topic = '…'), or 'folder' with a path.

