--- mz_now
SELECT id, amount FROM orders WHERE mz_now() <= at + INTERVAL '1' HOUR;
-- finding: calls an unknown function "mz_now"
-- hint: A view reads no clock: leave the condition out, and compare the event time when you query the view.
-- mend:  WHERE mz_now() <= at + INTERVAL '1' HOUR ==> 

--- mz_now with a cast
SELECT id FROM orders WHERE mz_now() < unix_millis(at) + 5000;
-- finding: calls an unknown function "mz_now"
-- hint: A view reads no clock: leave the condition out, and compare the event time when you query the view.

--- CREATE SOURCE FROM KAFKA CONNECTION
CREATE SOURCE visits FROM KAFKA CONNECTION broker (TOPIC 'visits') FORMAT JSON;
-- finding: uses FROM KAFKA CONNECTION, as Materialize has it
-- hint: Declare columns, and WITH (connector = 'kafka', topic = '…'); brokers are in headwater.toml.

--- CREATE CLUSTER
CREATE CLUSTER small (SIZE '25cc');
-- finding: CREATE CLUSTER declares nothing here
-- hint: Leave it out: `headwater run` keeps the views, as many processes as you start.

--- CREATE DEFAULT INDEX
CREATE DEFAULT INDEX ON spend;
-- finding: CREATE DEFAULT declares nothing here
-- hint: Say what a store finds rows by with the view: WITH (index = 'customer').

--- IN CLUSTER
CREATE MATERIALIZED VIEW v IN CLUSTER small AS SELECT id FROM orders;
-- finding: CREATE VIEW has no clause "IN"
-- hint: Leave it out: whoever runs `headwater run` keeps the view.
-- mend:  IN CLUSTER small ==> 

--- SUBSCRIBE
SUBSCRIBE TO spend;
-- finding: "SUBSCRIBE" doesn't start a declaration
-- hint: Ask `headwater watch VIEW`.

--- DISTINCT ON without an order
SELECT DISTINCT ON (customer, window_end) customer, window_end, id FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE);
-- finding: keeps one row of each without saying which, with DISTINCT ON
-- hint: Add ORDER BY customer, window_end, and what comes first, like at DESC.
-- mend: INTERVAL '1' MINUTE) ==> INTERVAL '1' MINUTE) ORDER BY customer, window_end, at DESC

--- DISTINCT ON with LIMIT
SELECT DISTINCT ON (customer, window_end) customer, window_end, id FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
ORDER BY customer, window_end, amount DESC LIMIT 3;
-- finding: has both DISTINCT ON and LIMIT
-- hint: Let a view of its own, or a subquery, have the first row of each.
-- mend:  LIMIT 3 ==> 

--- DISTINCT ON with QUALIFY
SELECT DISTINCT ON (customer, window_end) customer, window_end, id FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
QUALIFY row_number() OVER (PARTITION BY customer, window_end ORDER BY amount) = 1 ORDER BY customer, window_end, at;
-- finding: has both DISTINCT ON and QUALIFY
-- hint: Let one of them be a condition of a subquery.

--- WITH MUTUALLY RECURSIVE
WITH MUTUALLY RECURSIVE reach (id STRING) AS (SELECT id FROM orders UNION SELECT id FROM reach) SELECT id FROM reach;
-- finding: uses WITH MUTUALLY RECURSIVE, as Materialize has it
-- hint: Write one view for each step, each reading the one before it.

--- WITH RECURSIVE
WITH RECURSIVE reach AS (SELECT id FROM orders UNION ALL SELECT id FROM reach) SELECT id FROM reach;
-- finding: uses WITH RECURSIVE, which is not supported yet
-- hint: Write one view for each step, each reading the one before it.

--- date_bin
SELECT date_bin('5 minutes', at) AS bucket, count(*) AS n FROM orders GROUP BY 1;
-- finding: makes windows by a function
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5 minutes'), window_start in SELECT, and
-- mend: date_bin('5 minutes', at) AS bucket ==> window_start
-- mend: FROM orders ==> FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5 minutes')
-- mend: GROUP BY 1 ==> GROUP BY window_start, window_end

--- ENVELOPE UPSERT
CREATE SOURCE visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kafka', topic = 'visits') ENVELOPE UPSERT;
-- finding: CREATE SOURCE has no clause "ENVELOPE"
-- hint: Write CREATE TABLE … PRIMARY KEY (…): of rows with the same key the latest one counts.

--- OPTIONS (AGGREGATE INPUT GROUP SIZE)
SELECT customer, count(*) AS n FROM orders GROUP BY customer OPTIONS (AGGREGATE INPUT GROUP SIZE = 100);
-- finding: uses OPTIONS
-- hint: Leave it out; options of a view are in WITH (…) before AS.
-- mend:  OPTIONS (AGGREGATE INPUT GROUP SIZE = 100) ==> 
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- jsonb_build_object
SELECT id, jsonb_build_object('id', id) AS body FROM orders;
-- finding: calls an unknown function "jsonb_build_object"
-- hint: Write to_json(named_struct('id', id)).
-- mend: jsonb_build_object('id', id) ==> to_json(named_struct('id', id))

--- list_agg
SELECT window_end, list_agg(customer) AS customers FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "list_agg"
-- hint: Write collect_list(customer).
-- mend: list_agg(customer) ==> collect_list(customer)

--- regexp_match
SELECT id, regexp_match(customer, 'a') AS m FROM orders;
-- finding: calls an unknown function "regexp_match"
-- hint: Write regexp_extract(customer, 'a', 0).
-- mend: regexp_match(customer, 'a') ==> regexp_extract(customer, 'a', 0)

--- SHOW CREATE
SHOW CREATE VIEW spend;
-- finding: "SHOW" doesn't start a declaration
-- hint: Ask `headwater status`, or `headwater graph`.

--- COPY
COPY (SELECT * FROM spend) TO STDOUT;
-- finding: "COPY" doesn't start a declaration
-- hint: Append a file with `headwater append STREAM FILE`; rows of a view come from `headwater rows VIEW`.
