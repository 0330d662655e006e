--- a comma too many
SELECT id, FROM orders;
-- finding: can't be parsed at "FROM"
-- hint: Leave the comma out, or write what is missing behind it.
-- mend: id, FROM ==> id FROM

--- a comma that is missing
SELECT id amount customer FROM orders;
-- finding: can't be parsed at "customer"
-- hint: Is a comma or a word missing before "customer"?
-- mend: id amount customer ==> id, amount, customer

--- a missing FROM
SELECT id, amount orders WHERE amount > 1;
-- finding: reads nothing
-- hint: Add FROM with a stream, a table or a view.
-- mend: amount orders ==> amount FROM orders

--- an unclosed text
SELECT id FROM orders WHERE customer = 'ada;
-- finding: the text can't be parsed at "'"
-- hint: Write ' at its end as well.
-- mend: 'ada; ==> 'ada';

--- an unclosed parenthesis
SELECT id, (amount + 1 AS n FROM orders;
-- finding: can't be parsed at "FROM"
-- hint: Close the parenthesis that opens at 2:12, or write , or an operator here.
-- mend: (amount + 1 AS ==> (amount + 1) AS

--- a parenthesis too many
SELECT id, (amount + 1)) AS n FROM orders;
-- finding: can't be parsed at ")"
-- hint: Leave it out: no parenthesis is open here.
-- mend: 1)) ==> 1)

--- an unclosed name
SELECT id, `amount FROM orders;
-- finding: the text can't be parsed at "`"
-- hint: Write ` at its end as well.
-- mend: `amount ==> `amount`

--- WHERE twice
SELECT id FROM orders WHERE amount > 1 WHERE weight > 1;
-- finding: can't be parsed at "WHERE"
-- hint: Join their conditions with AND.
-- mend: 1 WHERE ==> 1 AND

--- HAVING without a group
SELECT id FROM orders HAVING amount > 1;
-- finding: has HAVING without a group
-- hint: Write WHERE in place of HAVING.
-- mend: HAVING ==> WHERE

--- = NULL
SELECT id FROM orders WHERE customer == NULL =;
-- finding: can't be parsed at its end
-- hint: Write what is missing, or leave the word before it out.

--- an incomplete comparison
SELECT id FROM orders WHERE amount >;
-- finding: can't be parsed at its end
-- hint: Write what is missing, or leave the word before it out.
-- mend: > ==> > 1

--- CASE without END
SELECT id, CASE WHEN paid THEN 1 ELSE 2 AS x FROM orders;
-- finding: can't be parsed at "2"
-- hint: Write END behind the last value of CASE.
-- mend: ELSE 2 ==> ELSE 2 END

--- BETWEEN without AND
SELECT id FROM orders WHERE amount BETWEEN 1, 2;
-- finding: can't be parsed at ","
-- hint: Write what is missing, or leave the word before it out.
-- mend: 1, 2 ==> 1 AND 2

--- IN without parentheses
SELECT id FROM orders WHERE amount IN 1, 2;
-- finding: can't be parsed at "2"
-- hint: Is a comma or a word missing before "2"?

--- JOIN without ON
SELECT o.id FROM orders o JOIN payments p;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').

--- a join without a bound
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: p.order_id ==> p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- a join with half a bound
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id AND p.at >= o.at;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: AND p.at >= o.at ==> AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- a left join without a bound
SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: p.order_id ==> p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- a join that isn't an equality
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.amount > p.paid;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: > p.paid ==> > p.paid AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

--- a join without watermark
SELECT o.id, c.page FROM orders o JOIN clicks c ON o.customer = c.customer AND c.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: uses the event time of stream "clicks", which declares no watermark
-- hint: Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration.

--- a join with a table as it is now
SELECT o.id, c.country FROM orders o JOIN customers c ON o.customer = c.customer;
-- finding: joins table "customers" as it happens to be when a row is processed
-- hint: Write JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON …

--- a join with a table that has no versions
SELECT o.id, c.name FROM orders o JOIN countries FOR SYSTEM_TIME AS OF o.at c ON o.customer = c.country;
-- finding: asks table "countries" for its rows as of an instant
-- hint: Declare when its rows changed, with WATERMARK FOR changed_at AS …, and write JOIN countries FOR SYSTEM_TIME AS OF o.at AS c ON …

--- a join with a table at another time
SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.day c ON o.customer = c.customer;
-- finding: asks for a table as of something that is not the event time
-- hint: Write FOR SYSTEM_TIME AS OF o.at; or o._arrived_at, for what was known on arrival.

--- an as-of of a stream
SELECT o.id, p.paid FROM orders o JOIN payments FOR SYSTEM_TIME AS OF o.at p ON o.id = p.order_id;
-- finding: asks stream "payments" for its rows as of an instant
-- hint: Write JOIN payments AS p ON … AND p.at BETWEEN o.at - INTERVAL '1' DAY AND o.at, and keep the newest

--- groups for ever
SELECT customer, count(*) AS n FROM orders GROUP BY customer;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY customer, window_start,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- distinct for ever
SELECT DISTINCT customer FROM orders;
-- finding: removes duplicates for ever
-- hint: Add at or a window to the columns, or state how long a row counts: WITH (retention = '30 days'), or 'forever'.
-- mend: DISTINCT customer ==> DISTINCT customer, at

--- count distinct for ever
SELECT count(DISTINCT customer) AS n FROM orders;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- a window that isn't grouped
SELECT customer, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer;
-- finding: groups rows for ever
-- hint: Add window_start, window_end to GROUP BY and to SELECT.
-- mend: SELECT customer ==> SELECT customer, window_start, window_end
-- mend: BY customer ==> BY customer, window_start, window_end

--- a column that is neither grouped nor aggregated
SELECT window_end, customer, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: reads a column "customer" that is neither grouped nor aggregated
-- hint: Add it to GROUP BY, or say which value of the group is meant, like max(customer).
-- mend: BY window_end ==> BY window_end, customer

--- a scalar subquery of many rows
SELECT id, (SELECT paid FROM payments) AS paid FROM orders;
-- finding: uses a subquery as a value that is not one aggregate
-- hint: Write one aggregate, like (SELECT max(i.amount) FROM … AS i WHERE i.window_end = o.window_end).

--- a subquery of two columns
SELECT id FROM orders WHERE id IN (SELECT order_id, paid FROM payments);
-- finding: compares IN with another number of columns
-- hint: Select one column in the subquery.

--- NOT IN of a stream for ever
SELECT id FROM orders WHERE id NOT IN (SELECT order_id FROM payments);
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Write it with EXISTS, and a time bound like payments.at BETWEEN orders.at AND orders.at + INTERVAL '1'

--- EXISTS without a bound
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id);
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: o.id) ==> o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR)

--- NOT EXISTS without a bound
SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id);
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. Or keep every row: WITH (retention = 'forever').
-- mend: o.id) ==> o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR)

--- EXISTS under OR
SELECT id FROM orders o WHERE paid OR EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR);
-- finding: compares the rows of a subquery that stands for a value by more than equality
-- hint: Compare with = only; a bound in time stands in the ON of a join, or in EXISTS.

--- a top-N of all time
SELECT customer, id, place FROM (SELECT customer, id, row_number() OVER (PARTITION BY customer ORDER BY amount DESC) AS place FROM orders) WHERE place <= 3;
-- finding: ranks rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer,
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- ORDER BY LIMIT of all time
SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10;
-- finding: ranks rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY window_end. Or state
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days', key = 'id')

--- LIMIT by a column
SELECT id, amount FROM orders ORDER BY amount DESC LIMIT quantity;
-- finding: keeps a number of rows without saying which
-- hint: Add ORDER BY before LIMIT, with a constant number of rows.

--- a view that emits changes under an aggregate
CREATE MATERIALIZED VIEW per_customer WITH (retention = '1 day') AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW most AS SELECT max(n) AS n FROM per_customer;
-- finding: reads view "per_customer", whose rows are never final
-- hint: Group view "per_customer" by a window, or read what it reads.

--- a TUMBLE over a view without time
CREATE MATERIALIZED VIEW names WITH (retention = '1 day') AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW most AS SELECT window_end, max(n) AS n FROM TUMBLE(TABLE names, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: reads an unknown column "at"
-- hint: Name one of these, or add "at" to what it reads.

--- a table without a key
CREATE TABLE products (id STRING, name STRING);
-- finding: has neither a primary key nor a watermark
-- hint: Add PRIMARY KEY (…) if rows replace each other, WATERMARK FOR … AS … if they are events.
-- mend: name STRING ==> name STRING, PRIMARY KEY (id)

--- a key of a column that isn't there
CREATE TABLE products (id STRING, name STRING, PRIMARY KEY (ident));
-- finding: names an unknown column "ident" in PRIMARY KEY
-- hint: Its columns are id, name.
-- mend: ident ==> id

--- two keys
CREATE TABLE products (id STRING PRIMARY KEY, name STRING PRIMARY KEY);
-- finding: has two primary keys
-- hint: Write one PRIMARY KEY (…) with all its columns.
-- mend: name STRING PRIMARY KEY ==> name STRING

--- a stream with a key
CREATE STREAM visits (id STRING, at TIMESTAMP, PRIMARY KEY (id), WATERMARK FOR at AS at);
-- finding: has a primary key
-- hint: Say unique = '…' in its options if the columns identify an event, or write CREATE TABLE.
-- mend:  PRIMARY KEY (id), ==> 
-- mend:  at AS at) ==>  at AS at) WITH (unique = 'id')

--- two watermarks
CREATE STREAM visits (id STRING, at TIMESTAMP, other TIMESTAMP, WATERMARK FOR at AS at, WATERMARK FOR other AS other);
-- finding: has two watermarks
-- hint: Leave one of them out.
-- mend: , WATERMARK FOR other AS other ==> 

--- a stream without columns
CREATE STREAM visits ();
-- finding: can't be parsed at ")"
-- hint: Declare at least one column, like (id STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND).
-- mend: () ==> (id STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)

--- a stream without parentheses
CREATE STREAM visits;
-- finding: can't be parsed at its end
-- hint: Write its columns: (id STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND).
-- mend: visits ==> visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)

--- unique of an unknown column
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (unique = 'ident');
-- finding: names an unknown column "ident" in option "unique"
-- hint: Its columns are id, at.
-- mend: ident ==> id

--- a connector that isn't there
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kinesis');
-- finding: gives option "connector" a value that it can't take
-- hint: connector takes 'kafka', 'folder', 'postgres', 'mysql', or a name that an installed package brings along.
-- mend: 'kinesis' ==> 'folder', path = 'visits'

--- kafka without a topic
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kafka');
-- finding: names no topic of Kafka
-- hint: Say topic = '…'.
-- mend: 'kafka' ==> 'kafka', topic = 'visits'

--- postgres without a table
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'postgres', url = '${SHOP_DB}');
-- finding: names no table of PostgreSQL
-- hint: Say table = 'public.customers'.
-- mend: 'postgres', ==> 'postgres', table = 'shops',

--- postgres with a password
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'postgres', table = 'shops', url = 'postgresql://me:secret@db/shop');
-- finding: has a password in its url
-- hint: Put it into an environment variable, and write url = 'postgresql://user:${PASSWORD}@host/database'.
-- mend: :secret ==> :${PASSWORD}

--- postgres of another kind
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'postgres', table = 'shops', url = 'mysql://db/shop');
-- finding: has no url of PostgreSQL
-- hint: Write url = 'postgresql://user:${PASSWORD}@host/database', or a variable that has it: '${SHOP_DB}'.
-- mend: mysql ==> postgresql

--- mysql without a table
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'mysql', url = '${SHOP_DB}');
-- finding: names no table of MariaDB or MySQL
-- hint: Say table = 'shop.customers'.
-- mend: 'mysql', ==> 'mysql', table = 'shops',

--- mysql with a password
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'mysql', table = 'shops', url = 'mysql://me:secret@db/shop');
-- finding: has a password in its url
-- hint: Put it into an environment variable, and write url = 'mysql://user:${PASSWORD}@host/database'.
-- mend: :secret ==> :${PASSWORD}

--- mysql of another kind
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'mysql', table = 'shops', url = 'postgresql://db/shop');
-- finding: has no url of MariaDB or MySQL
-- hint: Write url = 'mysql://user:${PASSWORD}@host/database', or a variable that has it: '${SHOP_DB}'.
-- mend: postgresql ==> mariadb

--- mysql into a stream
CREATE STREAM shops (id INT) WITH (connector = 'mysql', table = 'shops', url = '${SHOP_DB}');
-- finding: takes in a table of a database as a stream
-- hint: Write CREATE TABLE, with the PRIMARY KEY of the table.
-- mend: STREAM shops (id INT) ==> TABLE shops (id INT PRIMARY KEY)

--- mysql by an event time of its own
CREATE TABLE shops (id INT PRIMARY KEY, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'mysql', table = 'shops', url = '${SHOP_DB}');
-- finding: has the event time "at", and the order of its changes is that of their commits
-- hint: Write WATERMARK FOR committed_at AS committed_at, a TIMESTAMP, and message_time = 'committed_at'.
-- mend: 'mysql', ==> 'mysql', message_time = 'at',

--- mysql with a slot
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'mysql', table = 'shops', url = '${SHOP_DB}', slot = 'x');
-- finding: has no option "slot" with 'mysql'
-- hint: With it there are the options
-- mend: slot = 'x' ==> gaps = 'snapshot'

--- a table as it was known
CREATE MATERIALIZED VIEW v AS
SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.at AS KNOWN AT o.at AS c ON o.customer = c.customer;
-- finding: reads a table as it was known at an instant
-- hint: Leave AS KNOWN AT out, and write it in a query of the table.
-- mend: AS KNOWN AT o.at AS c ==> AS c

--- postgres into a stream
CREATE STREAM shops (id INT) WITH (connector = 'postgres', table = 'shops', url = '${SHOP_DB}');
-- finding: takes in a table of PostgreSQL
-- hint: Write CREATE TABLE, with the PRIMARY KEY of the table, or
-- mend: STREAM shops (id INT) ==> TABLE shops (id INT PRIMARY KEY)

--- postgres with an event time of its own
CREATE TABLE shops (id INT PRIMARY KEY, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'postgres', table = 'shops', url = '${SHOP_DB}');
-- finding: has the event time "at", and the order of its changes is that of their commits
-- hint: Write WATERMARK FOR committed_at AS committed_at
-- mend: , url = ==> , message_time = 'at', url =

--- changes of postgres that are skipped
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'postgres', table = 'shops', url = '${SHOP_DB}', gaps = 'skip');
-- finding: can't do gaps = 'skip'
-- hint: Say gaps = 'snapshot', or leave it out.
-- mend: skip ==> snapshot

--- a snapshot of kafka
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kafka', topic = 'v', gaps = 'snapshot');
-- finding: can't do gaps = 'snapshot'
-- hint: Say gaps = 'skip', or leave it out.
-- mend: snapshot ==> skip

--- a slot with a name that PostgreSQL doesn't take
CREATE TABLE shops (id INT PRIMARY KEY) WITH (connector = 'postgres', table = 'shops', url = '${SHOP_DB}', slot = 'Shop-1');
-- finding: gives option "slot" a value that it can't take
-- hint: slot takes name of lower-case letters, digits and '_'.
-- mend: Shop-1 ==> shop_1

--- a topic without a connector
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (topic = 'visits');
-- finding: gives option "topic" and no connector
-- hint: Say connector = 'kafka' beside it, for example.
-- mend: topic = ==> connector = 'kafka', topic =

--- a format that isn't there
CREATE STREAM visits (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kafka', topic = 'visits', format = 'xml');
-- finding: gives option "format" a value that it can't take
-- hint: format takes 'json', 'avro', 'protobuf', 'json-schema', 'csv' or 'raw'; in a folder also 'tsv',
-- mend: 'xml' ==> 'json'

--- an outlet to nowhere
CREATE OUTLET out FROM spend TO 'nowhere';
-- finding: sends to "nowhere", which is no target
-- hint: Write TO 'kafka://topic', 'delta://path' or 'https://host/hook'.
-- mend: 'nowhere' ==> 'kafka://topic'

--- an outlet of a stream
CREATE OUTLET out FROM orders TO 'kafka://orders';
-- finding: sends "orders", which is a stream
-- hint: Send a view: CREATE MATERIALIZED VIEW … FROM orders.

--- an outlet of a view that isn't there
CREATE OUTLET out FROM spent TO 'kafka://spent';
-- finding: sends "spent", which is declared nowhere
-- hint: Did you mean "spend"?
-- mend: spent TO ==> spend TO

--- an outlet to a database
CREATE OUTLET out FROM spend TO 'postgres://host/db';
-- finding: sends to "postgres://host/db", which is no target
-- hint: Write TO 'kafka://topic', 'delta://path' or 'https://host/hook'.
-- mend: postgres://host/db ==> delta://spend

--- an outlet to a bucket
CREATE OUTLET out FROM spend TO 's3://bucket/path';
-- finding: sends to "s3://bucket/path", which is no target
-- hint: Write TO 'kafka://topic', 'delta://path' or 'https://host/hook'.
-- mend: s3://bucket/path ==> delta://path

--- a function without a return
CREATE FUNCTION twice(x INT) RETURNS INT;
-- finding: can't be parsed at its end
-- hint: Write RETURN and an expression, like RETURN x * 2.
-- mend: RETURNS INT; ==> RETURNS INT RETURN x * 2;

--- a function that returns another type
CREATE FUNCTION twice(x INT) RETURNS ARRAY<INT> RETURN x * 2;
-- finding: casts INT to ARRAY<INT>, which Spark can't do
-- hint: Leave the cast out, or go through STRING: two casts.

--- a function with an unknown parameter
CREATE FUNCTION twice(x INT) RETURNS INT RETURN y * 2;
-- finding: names "y", which is none of its parameters
-- hint: Add it to the parameters: twice(x, y).
-- mend: x INT) ==> x INT, y INT)

--- a function with too few arguments
CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2;
CREATE MATERIALIZED VIEW v AS SELECT id, twice() AS n FROM orders;
-- finding: calls the function "twice" with 0 arguments in place of 1
-- hint: Write twice(x).
-- mend: twice() ==> twice(quantity)

--- a function with another type
CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2;
CREATE MATERIALIZED VIEW v AS SELECT id, twice(items) AS n FROM orders;
-- finding: casts ARRAY<STRING> to INT, which Spark can't do
-- hint: items is an array: take an element of it, like items[0].

--- a word that starts no statement
CRATE STREAM visits (id STRING);
-- finding: "CRATE" doesn't start a declaration
-- hint: Did you mean "CREATE"?
-- mend: CRATE ==> CREATE

--- a kind that isn't there
CREATE QUEUE visits (id STRING);
-- finding: CREATE QUEUE declares nothing here
-- hint: CREATE declares a STREAM, TABLE, SOURCE, VIEW, MATERIALIZED VIEW, FUNCTION or OUTLET.

--- CREATE MATERIALIZED
CREATE MATERIALIZED big AS SELECT id FROM orders;
-- finding: CREATE MATERIALIZED declares nothing here
-- hint: Write CREATE MATERIALIZED VIEW and a name.
-- mend: MATERIALIZED big ==> MATERIALIZED VIEW big

--- CREATE VIEW without AS
CREATE MATERIALIZED VIEW big SELECT id FROM orders;
-- finding: CREATE VIEW has no clause "SELECT"
-- hint: Write AS before the query.
-- mend: big SELECT ==> big AS SELECT

--- PERSONAL
CREATE STREAM visits (id STRING, name STRING, at TIMESTAMP, PERSONAL (name) OF id, WATERMARK FOR at AS at);
-- finding: has personal columns, which can't be kept in this version
-- hint: Leave these columns out, or encrypt them before they are appended.

--- emit = 'changes' of a session
CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS SELECT customer, window_end, median(amount) AS middle
FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: can't keep emit = 'changes'
-- hint: Write emit = 'final', or state the longest that counts with horizon = '…'.
-- mend: 'changes' ==> 'final'

--- execution = 'live' of what can't be
CREATE MATERIALIZED VIEW v WITH (execution = 'live') AS SELECT id, at, sum(amount) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS spent FROM orders;
-- finding: can't be kept with execution = 'live'
-- hint: Write execution = 'settle' or 'batch', or leave it out.
-- mend: 'live' ==> 'settle'

--- a horizon that is too short
CREATE MATERIALIZED VIEW v WITH (horizon = '1 minute') AS SELECT id, at, sum(amount) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS spent FROM orders;
-- finding: states a horizon that is shorter than its query reaches back
-- hint: Write horizon = '1 hour' or more.
-- mend: '1 minute' ==> '1 hour'

--- numbers of columns in an alias
SELECT a FROM (SELECT id, at FROM orders) AS t(a, b, c);
-- finding: names 3 of 2 columns in an alias
-- hint: Name as many as there are: (id, at).
-- mend: (a, b, c) ==> (a, b)

--- star of an unknown input
SELECT x.* FROM orders o;
-- finding: reads "x.*", but no input has that name
-- hint: Write o.*.
-- mend: x.* ==> o.*

--- a join in parentheses
SELECT o.id FROM (orders o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR);
-- finding: nests joins in parentheses
-- hint: Write the joins one after the other, without parentheses.
-- mend: (orders o ==> orders o
-- mend: HOUR) ==> HOUR

--- every without changes
CREATE MATERIALIZED VIEW v WITH (every = '10 seconds') AS SELECT id FROM orders;
-- finding: states every, and has nothing to show at a cadence
-- hint: Leave every out.
-- mend:  WITH (every = '10 seconds') ==> 

--- retention of a window
CREATE MATERIALIZED VIEW v WITH (layout = 'tree') AS SELECT id FROM orders;
-- finding: gives option "layout" a value that it can't take
-- hint: layout takes 'json', 'hash', 'sorted set' or 'stream'.

--- a value of a subquery beside groups
SELECT o.window_end, count(*) AS n, (SELECT max(i.paid) FROM TUMBLE(payments, at, INTERVAL '1' MINUTE) AS i WHERE i.window_end = o.window_end) AS most
FROM TUMBLE(orders, at, INTERVAL '1' MINUTE) AS o GROUP BY o.window_end;
-- finding: uses a subquery as a value beside groups
-- hint: Group in a subquery of its own: SELECT g.*, (SELECT …) AS … FROM (SELECT … GROUP BY …) AS g.

--- compared with all rows of a subquery
SELECT o.id FROM TUMBLE(orders, at, INTERVAL '1' MINUTE) AS o
WHERE o.amount >= ALL (SELECT i.amount FROM TUMBLE(orders, at, INTERVAL '1' MINUTE) AS i WHERE i.window_end = o.window_end);
-- finding: compares with ALL (SELECT …)
-- hint: Compare with one aggregate, like x >= (SELECT max(i.amount) FROM … AS i WHERE i.window_end = o.window_end); write = ANY as IN, and <> ALL as NOT IN.
-- mend: ALL (SELECT i.amount ==> (SELECT max(i.amount)

--- a lateral subquery within a bound in time
SELECT o.id, p.most FROM orders o
LEFT JOIN LATERAL (SELECT max(i.paid) AS most FROM payments i WHERE i.order_id = o.id AND i.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR) p ON TRUE;
-- finding: compares the rows of a subquery that stands for a value by more than equality
-- hint: Compare with = only; a bound in time stands in the ON of a join, or in EXISTS.

--- USING of a column that two inputs have
SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR JOIN orders q USING (customer, at);
-- finding: names a column "customer" that more than one of its inputs has
-- hint: Write o.customer or p.customer.
-- finding: names a column "at" that more than one of its inputs has
-- hint: Write o.at or p.at.

--- a frame by a time that rows may lack
SELECT o.id, count(*) OVER (PARTITION BY o.customer ORDER BY p.at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS n
FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: looks at the rows around a row for ever
-- hint: Order by the time of the side whose rows all stay (the left one of a LEFT JOIN, the right one of a RIGHT JOIN), or let every row count for ever: WITH (retention = 'forever').
-- mend: ORDER BY p.at ==> ORDER BY o.at
