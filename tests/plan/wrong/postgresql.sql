--- date_trunc group without end
SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM orders GROUP BY 1;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end,
-- mend: date_trunc('HOUR', at) AS hour ==> window_start
-- mend: FROM orders ==> FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)
-- mend: GROUP BY 1 ==> GROUP BY window_start, window_end

--- date_trunc by name
SELECT date_trunc('day', at) AS day, customer, sum(amount) AS spent FROM orders GROUP BY date_trunc('day', at), customer;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) … GROUP BY customer, window_start,
-- mend: date_trunc('day', at) AS day ==> window_start
-- mend: FROM orders ==> FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY)
-- mend: GROUP BY date_trunc('day', at) ==> GROUP BY window_start, window_end

--- time_bucket
SELECT time_bucket('5 minutes', at) AS bucket, count(*) AS n FROM orders GROUP BY bucket;
-- finding: gives the function "time_bucket" (STRING, TIMESTAMP)
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5 minutes'), window_start in SELECT, and
-- mend: time_bucket('5 minutes', at) AS bucket ==> window_start
-- mend: FROM orders ==> FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5 minutes')
-- mend: GROUP BY bucket ==> GROUP BY window_start, window_end

--- now() filter
SELECT id FROM orders WHERE at >= now() - INTERVAL '7 days';
-- finding: calls "now", which is not a pure function
-- hint: Leave the condition out, and compare the event time when you query the view: a view reads no clock.
-- mend:  WHERE at >= now() - INTERVAL '7 days' ==> 

--- CURRENT_TIMESTAMP
SELECT id, CURRENT_TIMESTAMP AS seen FROM orders;
-- finding: calls "current_timestamp", which is not a pure function
-- hint: Use the event time, _arrived_at, or another column of the event.
-- mend: CURRENT_TIMESTAMP AS seen ==> _arrived_at AS arrived_at

--- CURRENT_DATE
SELECT id FROM orders WHERE day = CURRENT_DATE;
-- finding: calls "current_date", which is not a pure function
-- hint: Leave the condition out, and compare the event time when you query the view: a view reads no clock.

--- random
SELECT id, random() AS r FROM orders;
-- finding: calls "random", which is not a pure function
-- hint: Use a column of the event: _id AS event_id, or xxhash64(id) for what only has to be spread.
-- mend: random() AS r ==> xxhash64(id) AS r

--- gen_random_uuid
SELECT gen_random_uuid() AS uid, id FROM orders;
-- finding: calls an unknown function "GEN_RANDOM_UUID"
-- hint: A replay would give other values: use _id AS event_id, which every event has.
-- mend: gen_random_uuid() AS uid ==> _id AS event_id

--- uuid()
SELECT uuid() AS uid, id FROM orders;
-- finding: calls "uuid", which is not a pure function
-- hint: Use a column of the event: _id AS event_id, or xxhash64(id) for what only has to be spread.
-- mend: uuid() AS uid ==> _id AS event_id

--- nextval
SELECT nextval('seq') AS n, id FROM orders;
-- finding: calls an unknown function "nextval"
-- hint: Use _commit and _row: the position of an event in the log.

--- AT TIME ZONE
SELECT id, at AT TIME ZONE 'Europe/Berlin' AS t FROM orders;
-- finding: Spark SQL has no AT TIME ZONE
-- hint: Write from_utc_timestamp(instant, zone) or convert_timezone(zone, instant).

--- ILIKE ANY misspelt
SELECT id FROM orders WHERE customer ILKE 'a%';
-- finding: can't be parsed at "ILKE"
-- hint: Did you mean "ILIKE"?
-- mend: ILKE ==> ILIKE

--- SIMILAR TO
SELECT id FROM orders WHERE customer SIMILAR TO 'a%';
-- finding: uses SIMILAR TO, which Spark SQL doesn't have
-- hint: Write customer RLIKE '…' with a regular expression, or LIKE.
-- mend: SIMILAR TO 'a%' ==> RLIKE 'a.*'

--- regex operator
SELECT id FROM orders WHERE customer ~ '^a';
-- finding: uses ~
-- hint: Write customer RLIKE '…', with (?i) at the start of the pattern to ignore case.
-- mend: ~ ==> RLIKE

--- regex operator not
SELECT id FROM orders WHERE customer !~* '^a';
-- finding: calls an unknown function "REGEXP_I_LIKE"
-- hint: Write rlike(customer, concat('(?i)', '^a')).

--- interval without quotes unit
SELECT id FROM orders WHERE at > TIMESTAMP '2026-01-01' + INTERVAL '1 fortnight';
-- finding: has an interval in "FORTNIGHT", which is no unit
-- hint: Units are year, month, quarter, week, day, hour, minute, second, millisecond, microsecond.

--- string concatenation with +
SELECT id, customer + '-' + id AS name FROM orders;
-- finding: applies "+" to STRING and STRING
-- hint: Write customer || '-' to put texts together.

--- double quotes for a name
SELECT "id", amount FROM orders WHERE "amount" > 1;
-- finding: has an output column without a name
-- hint: Write `id`, or leave the quotes out: what stands in double quotes is a text.
-- mend: "id" ==> id
-- mend: "amount" ==> amount

--- array subscript by 1-based text
SELECT id, items['1'] AS item FROM orders;
-- finding: applies "[]" to ARRAY<STRING> and STRING
-- hint: Write items[0]: elements have whole numbers, from 0 on.
-- mend: ['1'] ==> [0]

--- ARRAY_AGG FILTER misspelt
SELECT window_end, count(*) FILTR (WHERE paid) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: can't be parsed at "("
-- hint: Did you mean "FILTER"?

--- array_length with dimension
SELECT id, array_length(items, 1) AS n FROM orders;
-- finding: calls an unknown function "ARRAY_LENGTH"
-- hint: Write size(items).
-- mend: array_length(items, 1) ==> size(items)

--- string_to_array
SELECT id, string_to_array(customer, '-') AS parts FROM orders;
-- finding: calls an unknown function "STRING_TO_ARRAY"
-- hint: Write split(customer, '-').
-- mend: string_to_array(customer, '-') ==> split(customer, '-')

--- regexp_split_to_table
SELECT id, regexp_split_to_table(customer, '-') AS part FROM orders;
-- finding: calls an unknown function "regexp_split_to_table"
-- hint: Write explode(split(customer, '-')).
-- mend: regexp_split_to_table(customer, '-') ==> explode(split(customer, '-'))

--- json_agg
SELECT window_end, json_agg(customer) AS j FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "json_agg"
-- hint: Write to_json(collect_list(customer)).
-- mend: json_agg(customer) ==> to_json(collect_list(customer))

--- strpos
SELECT id, strpos(customer, 'a') AS n FROM orders;
-- finding: calls an unknown function "STRPOS"
-- hint: Write instr(customer, 'a').
-- mend: strpos(customer, 'a') ==> instr(customer, 'a')

--- to_number style
SELECT id, quote_literal(customer) AS q FROM orders;
-- finding: calls an unknown function "quote_literal"
-- hint: Leave it out: a value is never pasted into SQL here.

--- age
SELECT id, age(at) AS old FROM orders;
-- finding: calls an unknown function "age"
-- hint: A view reads no clock: write timestampdiff(SECOND, at, _arrived_at), or compute it when you query the view.

--- make_interval keyword
SELECT id, at + 5 AS t FROM orders;
-- finding: applies "+" to TIMESTAMP and INT
-- hint: Write at + INTERVAL '5' SECOND, or another unit.
-- mend: at + 5 ==> at + INTERVAL '5' SECOND

--- boolean as integer
SELECT window_end, sum(paid) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: gives the function "sum" (BOOLEAN)
-- hint: Write count_if(paid): how often it is true.
-- mend: sum(paid) ==> count_if(paid)

--- WHERE with an aggregate
SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) WHERE count(*) > 1 GROUP BY customer, window_end;
-- finding: aggregates with "count" in WHERE
-- hint: Aggregate in SELECT, HAVING or QUALIFY, or in a subquery.
-- mend:  WHERE count(*) > 1 ==> 
-- mend: GROUP BY customer, window_end ==> GROUP BY customer, window_end HAVING count(*) > 1

--- HAVING an alias that isn't there
SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end HAVING m > 1;
-- finding: reads an unknown column "m"
-- hint: Name one of these, or add "m" to what it reads.
-- mend: HAVING m ==> HAVING n

--- a nested aggregate
SELECT window_end, max(sum(amount)) AS most FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: aggregates an aggregate
-- hint: Aggregate in a subquery or a view of its own, and aggregate its rows.

--- an aggregate beside a column without GROUP BY
SELECT customer, count(*) AS n FROM orders;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end,
-- finding: reads a column "customer" that is neither grouped nor aggregated
-- hint: Add it to GROUP BY, or say which value of the group is meant, like max(customer).
-- mend: FROM orders ==> FROM orders GROUP BY customer
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- an aggregate over everything
SELECT count(*) AS n FROM orders;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- GROUP BY 3 of 2
SELECT customer, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY 3;
-- finding: groups by position 3, but selects 2 columns
-- hint: Write the column's name.

--- GROUP BY an aggregate
SELECT customer, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY 1, 2;
-- finding: groups by an aggregate
-- hint: Group by columns, or by expressions over columns.

--- SELECT star with GROUP BY
SELECT * FROM orders GROUP BY customer;
-- finding: reads columns that are neither grouped nor aggregated
-- hint: Name the columns of GROUP BY in SELECT, and aggregates of the others, like max(…), in place of *.
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY customer, window_start,

--- VALUES of rows of other lengths
SELECT o.id, v.name FROM orders o JOIN (VALUES ('a', 'Alpha'), ('b')) AS v (customer, name) ON v.customer = o.customer;
-- finding: reads VALUES of rows that have not as many values as columns
-- hint: Write 2 values in each row.
-- mend: ('b') ==> ('b', NULL)

--- VALUES from the other side
SELECT o.id, v.name FROM orders o RIGHT JOIN (VALUES ('a', 'Alpha')) AS v (customer, name) ON v.customer = o.customer;
-- finding: joins VALUES from the other side
-- hint: Write JOIN, LEFT JOIN or CROSS JOIN.
-- mend: RIGHT JOIN ==> LEFT JOIN

--- VALUES with USING
SELECT o.id, v.name FROM orders o JOIN (VALUES ('a', 'Alpha')) AS v (customer, name) USING (customer);
-- finding: joins VALUES with USING
-- hint: Write ON, with the columns of both sides.
-- mend: USING (customer) ==> ON v.customer = o.customer

--- VALUES
VALUES (1, 'a'), (2, 'b');
-- finding: a view is a query
-- hint: Write SELECT … behind AS.

--- SELECT without FROM
SELECT 1 AS one;
-- finding: reads nothing
-- hint: Add FROM with a stream, a table or a view.
-- mend: 1 AS one ==> id FROM orders

--- a materialized view in a schema
CREATE MATERIALIZED VIEW public.v AS SELECT id FROM orders;
-- finding: a name has one part
-- hint: Leave the catalog and the schema out.
-- mend: public. ==> 

--- a table of another schema
SELECT id FROM public.orders;
-- finding: uses the name of a database in FROM, which has no meaning here
-- hint: Write the name alone: a project's streams, tables and views are in no database.
-- mend: public. ==> 

--- IF EXISTS twist
CREATE MATERIALIZED VIEW IF EXISTS v AS SELECT id FROM orders;
-- finding: CREATE VIEW has no clause "EXISTS"
-- hint: COMMENT '…' and WITH (…) may stand here, each once.

--- SERIAL
CREATE TABLE visits (id SERIAL PRIMARY KEY, page TEXT);
-- finding: "SERIAL" is not a type
-- hint: Write BIGINT: the events carry their numbers.
-- mend: SERIAL ==> BIGINT

--- TEXT with a check
CREATE TABLE visits (id STRING PRIMARY KEY, page STRING CHECK (page <> ''));
-- finding: a stream or table can't have CHECK
-- hint: Leave it out, and write the condition into the WHERE of a view.
-- mend:  CHECK (page <> '') ==> 

--- REFERENCES
CREATE TABLE visits (id STRING PRIMARY KEY, page STRING REFERENCES pages);
-- finding: a stream or table can't have REFERENCES
-- hint: Leave it out: join the table in a view.
-- mend:  REFERENCES pages ==> 

--- UNIQUE
CREATE STREAM visits (id STRING UNIQUE, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: a stream or table can't have UNIQUE
-- hint: Write WITH (unique = '…') behind the columns.
-- mend:  UNIQUE ==> 
-- mend:  at AS at) ==>  at AS at) WITH (unique = 'id')

--- UNIQUE (id) clause
CREATE STREAM visits (id STRING, at TIMESTAMP, UNIQUE (id), WATERMARK FOR at AS at);
-- finding: a stream or table can't have UNIQUE
-- hint: Write WITH (unique = '…') behind the columns.
-- mend:  UNIQUE (id), ==> 
-- mend:  at AS at) ==>  at AS at) WITH (unique = 'id')

--- CONSTRAINT
CREATE TABLE visits (id STRING, page STRING, CONSTRAINT pk PRIMARY KEY (id));
-- finding: a stream or table can't have CONSTRAINT
-- hint: Leave CONSTRAINT and its name out: write PRIMARY KEY (…).
-- mend: CONSTRAINT pk  ==> 

--- FOREIGN KEY
CREATE TABLE visits (id STRING PRIMARY KEY, page STRING, FOREIGN KEY (page) REFERENCES pages (id));
-- finding: a stream or table can't have FOREIGN KEY
-- hint: Leave it out: join the table in a view.
-- mend: , FOREIGN KEY (page) REFERENCES pages (id) ==> 

--- PARTITIONED BY
CREATE STREAM visits (id STRING, day DATE, at TIMESTAMP, WATERMARK FOR at AS at) PARTITIONED BY (day);
-- finding: CREATE STREAM has no clause "PARTITIONED BY"
-- hint: Leave it out: the log decides how it lays its files out.
-- mend:  PARTITIONED BY (day) ==> 

--- DEFAULT now()
CREATE STREAM visits (id STRING, at TIMESTAMP DEFAULT now(), WATERMARK FOR at AS at);
-- finding: can't be parsed at "now"
-- hint: Write a constant, like DEFAULT 0; what depends on the event is computed in a view.
-- mend:  DEFAULT now() ==> 

--- DEFAULT of another type
CREATE STREAM visits (id STRING, n INT DEFAULT 'many', at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: gives the column "n" a default that it can't have
-- hint: Write a value of type INT, or leave DEFAULT out.
-- mend: 'many' ==> 0

--- WITH DATA
CREATE MATERIALIZED VIEW v AS SELECT id FROM orders WITH NO DATA;
-- finding: uses WITH NO DATA
-- hint: Leave it out: a view is built by `headwater catch-up` or `run`.
-- mend:  WITH NO DATA ==> 

--- REFRESH
REFRESH MATERIALIZED VIEW spend;
-- finding: "REFRESH" doesn't start a declaration
-- hint: Leave it out: a view is kept up to date by `headwater run` or `headwater catch-up`.

--- a trigger
CREATE TRIGGER t AFTER INSERT ON orders EXECUTE FUNCTION f();
-- finding: CREATE TRIGGER declares nothing here
-- hint: Write CREATE OUTLET … FROM view TO 'https://host/hook': it is called with every change of the view.

--- GRANT
GRANT SELECT ON spend TO ada;
-- finding: "GRANT" doesn't start a declaration
-- hint: Make a token with `headwater token create`; its role says what it allows.

--- EXPLAIN
EXPLAIN SELECT id FROM orders;
-- finding: "EXPLAIN" doesn't start a declaration
-- hint: Ask `headwater explain VIEW`.

--- UPDATE
UPDATE orders SET amount = 0;
-- finding: "UPDATE" doesn't start a declaration
-- hint: Events are never changed; append an event that says what has changed, to a table with a PRIMARY KEY.

--- DELETE
DELETE FROM orders WHERE amount = 0;
-- finding: "DELETE" doesn't start a declaration
-- hint: Events are never deleted; leave rows out of a view with WHERE, or let old ones go: `headwater trim`.

--- FETCH FIRST
SELECT id, at FROM orders FETCH FIRST 10 ROWS ONLY;
-- finding: keeps a number of rows without saying which
-- hint: Add ORDER BY before LIMIT
-- mend: FETCH FIRST 10 ROWS ONLY ==> ORDER BY at LIMIT 10
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days', key = 'id')

--- LIMIT by a percentage
SELECT id, at FROM orders ORDER BY at LIMIT 10 PERCENT;
-- finding: uses a share of rows in LIMIT, which has no meaning here
-- hint: Write LIMIT and a number of rows.

--- NATURAL JOIN
SELECT id FROM orders NATURAL JOIN payments;
-- finding: uses NATURAL JOIN, whose columns change with the declarations
-- hint: Write JOIN … USING (id, customer, paid, at), or ON, with those columns that are meant.

--- CROSS JOIN of streams
SELECT o.id, p.paid FROM orders o CROSS JOIN payments p;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: CROSS JOIN payments p ==> JOIN payments p ON p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- comma join of streams
SELECT o.id, p.paid FROM orders o, payments p WHERE o.id = p.order_id;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: p.order_id ==> p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- TABLESAMPLE
SELECT id FROM orders TABLESAMPLE (10 PERCENT);
-- finding: reads a random sample of its input
-- hint: Choose by what identifies an event: WHERE pmod(xxhash64(id), 100) < 10.
-- mend: TABLESAMPLE (10 PERCENT) ==> WHERE pmod(xxhash64(id), 100) < 10

--- FOR UPDATE
SELECT id FROM orders FOR UPDATE;
-- finding: uses a lock in SELECT, which has no meaning here
-- hint: Leave it out.
-- mend:  FOR UPDATE ==> 

--- OFFSET
SELECT id, at FROM orders ORDER BY at OFFSET 10;
-- finding: skips rows with OFFSET and keeps all others
-- hint: Say how many rows follow, with LIMIT;
-- mend: OFFSET ==> LIMIT 10 OFFSET
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = 'forever')

--- LIMIT without ORDER BY
SELECT id FROM orders LIMIT 10;
-- finding: keeps a number of rows without saying which
-- hint: Add ORDER BY before LIMIT, with a constant number of rows.
-- mend: LIMIT ==> ORDER BY id LIMIT
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days', key = 'id')

--- ORDER BY without LIMIT
SELECT id, at FROM orders ORDER BY at DESC;
-- finding: is ordered, but the rows of a view have no order
-- hint: Leave ORDER BY out and order when you query the view, or add LIMIT for the first rows.
-- mend:  ORDER BY at DESC ==> 

--- a part of a list
SELECT id, items[1:2] AS s FROM orders;
-- finding: takes a part of a list with [ : ]
-- hint: Write slice(items, 1, 2).
-- mend: items[1:2] ==> slice(items, 1, 2)

--- an order by the number of a column that isn't there
SELECT id FROM orders ORDER BY 2 LIMIT 3;
-- finding: is ordered by column 2, and has 1
-- hint: Write a number from 1 to 1, or a name.
-- mend: BY 2 ==> BY 1
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = 'forever')
