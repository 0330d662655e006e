--- TUMBLE without TABLE and DESCRIPTOR but an unknown size
SELECT window_start, count(*) AS n FROM TUMBLE(orders, at) GROUP BY window_start;
-- finding: TUMBLE lacks its size
-- hint: Write TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE).

--- CREATE SINK
CREATE SINK totals FROM spend WITH (connector = 'kafka', topic = 'totals');
-- finding: CREATE SINK declares nothing here
-- hint: Write CREATE OUTLET totals FROM view TO 'kafka://topic'; TO may be 'delta://path' or 'https://host/hook'.
-- mend: CREATE SINK totals FROM spend WITH (connector = 'kafka', topic = 'totals') ==> CREATE OUTLET totals FROM spend TO 'kafka://totals'

--- CREATE SINK AS SELECT
CREATE SINK totals AS SELECT id FROM orders WITH (connector = 'kafka', topic = 'totals');
-- finding: CREATE SINK declares nothing here
-- hint: Write CREATE OUTLET totals FROM view TO 'kafka://topic'; TO may be 'delta://path' or 'https://host/hook'.

--- CREATE CONNECTION
CREATE CONNECTION broker WITH (type = 'kafka', properties.bootstrap.server = 'localhost:9092');
-- finding: CREATE CONNECTION declares nothing here
-- hint: Put it into headwater.toml: [kafka.main] with "bootstrap.servers" = "host:9092".

--- CREATE SECRET
CREATE SECRET password WITH (backend = 'meta') AS 'secret';
-- finding: CREATE SECRET declares nothing here
-- hint: Put it into the environment, and name it in headwater.toml as ${NAME}.

--- CREATE SOURCE with FORMAT PLAIN ENCODE JSON
CREATE SOURCE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH (connector = 'kafka', topic = 'visits') FORMAT PLAIN ENCODE JSON;
-- finding: CREATE SOURCE has no clause "FORMAT"
-- hint: Write WITH (connector = 'kafka', topic = '…', format = 'json').
-- mend: topic = 'visits') FORMAT PLAIN ENCODE JSON ==> topic = 'visits', format = 'json')

--- properties.bootstrap.server
CREATE SOURCE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH (connector = 'kafka', topic = 'visits', properties.bootstrap.server = 'localhost:9092');
-- finding: has no option "properties.bootstrap.server"
-- hint: Write brokers = 'host:9092', or [kafka.main] in headwater.toml.
-- mend: properties.bootstrap.server ==> brokers

--- temporal filter
SELECT id, amount FROM orders WHERE at > now() - INTERVAL '1' HOUR;
-- finding: calls "now", which is not a pure function
-- hint: Leave the condition out, and compare the event time when you query the view: a view reads no clock.
-- mend:  WHERE at > now() - INTERVAL '1' HOUR ==> 

--- generate_series in SELECT
SELECT id, generate_series(1, quantity) AS n FROM orders;
-- finding: calls an unknown function "GENERATE_SERIES"
-- hint: Write explode(sequence(1, quantity)).
-- mend: generate_series(1, quantity) ==> explode(sequence(1, quantity))

--- generate_series in FROM
SELECT n FROM generate_series(1, 10) AS t(n);
-- finding: reads rows that "generate_series" makes
-- hint: Write LATERAL VIEW explode(sequence(1, 10)) t AS element behind the stream that it is computed from.

--- generate_series beside a stream
SELECT id, n FROM orders, generate_series(1, quantity) AS t(n);
-- finding: reads rows that "generate_series" makes
-- hint: Write LATERAL VIEW explode(sequence(1, quantity)) t AS element behind the stream that it is computed from.
-- mend: , generate_series(1, quantity) AS t(n) ==>  LATERAL VIEW explode(sequence(1, quantity)) t AS n

--- gap_fill
SELECT window_start, count(*) AS n FROM GAP_FILL(TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY window_start;
-- finding: uses GAP_FILL, which is not supported yet
-- hint: Fill gaps when you query the view. It will come.

--- gap_fill in SELECT
SELECT gap_fill('1 minute', at) AS t, count(*) AS n FROM orders GROUP BY 1;
-- finding: calls an unknown function "GAP_FILL"
-- hint: Fill gaps when you query the view. It will come.

--- gap_fill of TimescaleDB
SELECT time_bucket_gapfill('1 minute', at) AS t, count(*) AS n FROM orders GROUP BY 1;
-- finding: calls an unknown function "time_bucket_gapfill"
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) … GROUP BY window_start, window_end

--- ASOF JOIN
SELECT o.id, p.paid FROM orders o ASOF JOIN payments p ON o.customer = p.customer AND o.at >= p.at;
-- finding: uses ASOF JOIN, which is written with FOR SYSTEM_TIME AS OF here
-- hint: Write JOIN payments AS p ON … AND p.at BETWEEN o.at - INTERVAL '1' DAY AND o.at, and keep the newest: QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id, o.at ORDER BY p.at DESC) = 1.
-- mend: SELECT o.id, p.paid ==> SELECT o.id, o.at, p.paid
-- mend: ASOF JOIN ==> JOIN
-- mend: o.at >= p.at; ==> p.at BETWEEN o.at - INTERVAL '1' DAY AND o.at QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id, o.at ORDER BY p.at DESC) = 1;

--- ASOF LEFT JOIN
SELECT o.id, p.paid FROM orders o ASOF LEFT JOIN payments p ON o.customer = p.customer AND p.at <= o.at;
-- finding: uses ASOF LEFT JOIN, which is written with FOR SYSTEM_TIME AS OF here
-- hint: Write LEFT JOIN payments AS p ON … AND p.at BETWEEN o.at - INTERVAL '1' DAY AND o.at, and keep the newest

--- LEFT ASOF JOIN of a table
SELECT o.id, c.country FROM orders o LEFT ASOF JOIN customers c MATCH_CONDITION (o.at >= c.changed_at) ON o.customer = c.customer;
-- finding: uses ASOF JOIN
-- hint: Write JOIN … FOR SYSTEM_TIME AS OF l.at AS r ON l.key = r.key

--- row_number = 2 without a window
SELECT id, customer FROM (SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY at DESC) AS place FROM orders) WHERE place = 2;
-- finding: ranks rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (horizon = '1 hour')
-- mend: id, customer FROM (SELECT id, customer, ==> id, customer, at FROM (SELECT id, customer, at,

--- rank = 2 without a window
SELECT id, customer FROM (SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY at DESC) AS place FROM orders) WHERE place = 2;
-- finding: ranks rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (horizon = '1 hour')
-- mend: id, customer FROM (SELECT id, customer, ==> id, customer, at FROM (SELECT id, customer, at,

--- dense_rank
SELECT id, customer FROM (SELECT id, customer, dense_rank() OVER (PARTITION BY customer ORDER BY amount DESC) AS place FROM orders) WHERE place <= 3;
-- finding: ranks rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer,

--- EMIT ON WINDOW CLOSE before the query's end
CREATE MATERIALIZED VIEW v EMIT ON WINDOW CLOSE AS SELECT id FROM orders;
-- finding: CREATE VIEW has no clause "EMIT"
-- hint: Write EMIT at the end of the query.
-- mend:  EMIT ON WINDOW CLOSE ==> 
-- mend: FROM orders ==> FROM orders EMIT ON WINDOW CLOSE

--- EMIT ON UPDATE
CREATE MATERIALIZED VIEW v AS SELECT id FROM orders EMIT ON UPDATE;
-- finding: uses EMIT ON UPDATE
-- hint: Write EMIT CHANGES, or leave it out.
-- mend: EMIT ON UPDATE ==> EMIT CHANGES

--- string_agg in an order over rows
SELECT window_end, string_agg(customer, ',' ORDER BY customer) AS customers FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end LIMIT 5;
-- finding: keeps a number of rows without saying which
-- hint: Add ORDER BY before LIMIT, with a constant number of rows.
-- mend:  LIMIT 5 ==> 

--- jsonb_array_elements
SELECT id, jsonb_array_elements(body) AS element FROM orders;
-- finding: calls an unknown function "jsonb_array_elements"
-- hint: Write explode(from_json(body, 'ARRAY<STRING>')).
-- mend: jsonb_array_elements(body) ==> explode(from_json(body, 'ARRAY<STRING>'))

--- to_char
SELECT id, to_chr(at, 'yyyy-MM-dd') AS day FROM orders;
-- finding: calls an unknown function "to_chr"
-- hint: Did you mean to_char?
-- mend: to_chr ==> to_char

--- to_char with the letters of PostgreSQL
SELECT id, to_char(at, 'YYYY-MM-DD') AS day FROM orders;
-- finding: calls the function "to_char", which can't take what it is given
-- hint: Write a pattern like 'yyyy-MM-dd HH:mm:ss'
-- mend: YYYY-MM-DD ==> yyyy-MM-dd

--- extract epoch
SELECT id, extract(EPOCH FROM at) AS s FROM orders;
-- finding: calls the function "extract", which can't take what it is given
-- hint: Fields are YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and others.

--- proctime() column of a source
CREATE SOURCE visits (page STRING, at TIMESTAMP AS proctime(), WATERMARK FOR at AS at);
-- finding: a stream or table can't have computed columns
-- hint: Declare what the events carry; compute the rest in a view.
-- mend:  AS proctime() ==> 

--- INCLUDE key AS
CREATE SOURCE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at) INCLUDE KEY AS k WITH (connector = 'kafka', topic = 'visits');
-- finding: CREATE SOURCE has no clause "INCLUDE"
-- hint: Declare a column for it, and write WITH (message_key = '…'); there are message_time and message_headers too.

--- APPEND ONLY
CREATE TABLE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at) APPEND ONLY;
-- finding: CREATE TABLE has no clause "APPEND"
-- hint: Write CREATE STREAM: its events are only added.
-- mend: CREATE TABLE ==> CREATE STREAM
-- mend:  APPEND ONLY ==> 

--- ON CONFLICT
CREATE TABLE visits (page STRING PRIMARY KEY, at TIMESTAMP) ON CONFLICT DO NOTHING;
-- finding: CREATE TABLE has no clause "ON"
-- hint: Leave it out: of rows with the same PRIMARY KEY the latest one counts.
-- mend:  ON CONFLICT DO NOTHING ==> 

--- CREATE INDEX
CREATE INDEX by_customer ON spend (customer);
-- finding: CREATE INDEX declares nothing here
-- hint: Say what a store finds rows by with the view: WITH (index = 'customer').

--- ALTER
ALTER MATERIALIZED VIEW spend SET PARALLELISM = 4;
-- finding: "ALTER" doesn't start a declaration
-- hint: Edit the declaration; a run takes it over with `headwater promote`.

--- jsonb type
CREATE STREAM visits (page STRING, body JSONB, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: "JSONB" is not a type of Spark SQL
-- hint: Write STRING, and read it in a view with get_json_object(…), or declare a STRUCT.
-- mend: JSONB ==> STRING

--- numeric without precision
CREATE STREAM visits (page STRING, amount NUMERICAL, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: "NUMERICAL" is not a type
-- hint: The types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, STRING, BINARY, DATE,

--- retention beyond anything
CREATE MATERIALIZED VIEW v WITH (retention = '99999999999 days') AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;
-- finding: gives option "retention" a value that it can't take
-- hint: retention takes duration or 'forever'.
