--- window() of Spark with three durations as numbers
SELECT window(at, 60) AS w, count(*) AS n FROM orders GROUP BY 1;
-- finding: calls the function "window", which no view can use
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE), window_start, window_end in

--- window() of Spark
SELECT window(at, '5 minutes') AS w, count(*) AS n FROM orders GROUP BY window(at, '5 minutes');
-- finding: calls the function "window", which no view can use
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5 minutes'), window_start, window_end in

--- session_window of Spark
SELECT session_window(at, '5 minutes') AS w, customer, count(*) AS n FROM orders GROUP BY session_window(at, '5 minutes'), customer;
-- finding: calls the function "session_window", which no view can use
-- hint: Write FROM SESSION(TABLE orders PARTITION BY …, DESCRIPTOR(at), INTERVAL '5 minutes'), window_start,

--- withWatermark in SQL
SELECT id FROM orders WATERMARK at DELAY OF INTERVAL 5 SECONDS;
-- finding: uses WATERMARK in a query, as Spark has it
-- hint: Declare it with the stream: WATERMARK FOR at AS at - INTERVAL '5' SECOND.

--- STREAM t
SELECT id FROM STREAM orders;
-- finding: reads "STREAM", which is declared nowhere
-- hint: Write FROM orders: a stream is read by its name.
-- mend: STREAM orders ==> orders

--- STREAM(t)
SELECT id FROM STREAM(orders);
-- finding: reads STREAM(…), as Spark has it
-- hint: Write FROM orders: a stream is read by its name.
-- mend: STREAM(orders) ==> orders

--- CREATE STREAMING TABLE
CREATE STREAMING TABLE big AS SELECT id FROM orders;
-- finding: CREATE STREAMING declares nothing here
-- hint: Write CREATE MATERIALIZED VIEW … AS SELECT …: it is kept up to date as events come.
-- mend: STREAMING TABLE ==> MATERIALIZED VIEW

--- CREATE OR REFRESH STREAMING TABLE
CREATE OR REFRESH STREAMING TABLE big AS SELECT id FROM STREAM(orders);
-- finding: CREATE OR declares nothing here
-- hint: Write CREATE: the project is what its files say, so that a declaration is changed by editing it.

--- USING delta
CREATE TABLE visits (id STRING PRIMARY KEY) USING delta;
-- finding: CREATE TABLE has no clause "USING"
-- hint: Leave it out: the log is a table of Delta Lake.
-- mend:  USING delta ==> 

--- TBLPROPERTIES
CREATE TABLE visits (id STRING PRIMARY KEY) TBLPROPERTIES ('a' = 'b');
-- finding: CREATE TABLE has no clause "TBLPROPERTIES"
-- hint: Write WITH (name = '…') with options of the stream or table.

--- LATERAL FLATTEN
SELECT id, f.value AS item FROM orders, LATERAL FLATTEN(input => items) f;
-- finding: makes rows with "flatten", which makes none
-- hint: Write LATERAL VIEW explode(items) f AS element.
-- mend: , LATERAL FLATTEN(input => items) f ==>  LATERAL VIEW explode(items) f AS value

--- FLATTEN in FROM
SELECT f.value AS item FROM TABLE(FLATTEN(items)) f;
-- finding: reads rows that "flatten" makes
-- hint: Write LATERAL VIEW explode(items) t AS element behind the stream that it is computed from.

--- variant path by colon
SELECT id, body:city::string AS city FROM orders;
-- finding: uses a path into JSON, as Snowflake has it
-- hint: Write get_json_object(body, '$.city').
-- mend: body:city::string ==> get_json_object(body, '$.city')

--- QUALIFY row_number of all time
SELECT id, customer, at FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY at DESC) = 1;
-- finding: removes duplicates for ever
-- hint: Add at or a window to the columns, or state how long a row counts: WITH (retention = '30 days'), or 'forever'.
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- PIVOT without values
SELECT * FROM orders PIVOT (sum(amount) FOR customer IN (ANY));
-- finding: uses a PIVOT without a list of values
-- hint: Write FOR column IN ('a', 'b'), with the values.

--- PIVOT by another aggregate than there is
SELECT * FROM orders PIVOT (total(amount) FOR customer IN ('ada', 'bob'));
-- finding: calls an unknown function "total"
-- hint: Write sum(amount).
-- mend: total(amount) ==> sum(amount)

--- IFF
SELECT id, IFF(paid, 'yes', 'no') AS paid FROM orders;
-- finding: calls an unknown function "IFF"
-- hint: Write if(paid, 'yes', 'no').
-- mend: IFF(paid, 'yes', 'no') ==> if(paid, 'yes', 'no')

--- ZEROIFNULL is Spark's, NVL3 is not
SELECT id, NVL3(amount, 0, 1) AS amount FROM orders;
-- finding: calls an unknown function "NVL3"
-- hint: Did you mean nvl?

--- TIME_SLICE
SELECT TIME_SLICE(at, 5, 'MINUTE') AS t, count(*) AS n FROM orders GROUP BY 1;
-- finding: makes windows by a function
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5' MINUTE), window_start in SELECT, and

--- OBJECT_CONSTRUCT
SELECT id, OBJECT_CONSTRUCT('id', id) AS o FROM orders;
-- finding: calls an unknown function "OBJECT_CONSTRUCT"
-- hint: Write named_struct('id', id).
-- mend: OBJECT_CONSTRUCT('id', id) ==> named_struct('id', id)

--- ARRAY_AGG WITHIN GROUP without an order
SELECT window_end, LISTAGG(customer) WITHIN GROUP () AS c FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: has a WITHIN GROUP without ORDER BY
-- hint: Write WITHIN GROUP (ORDER BY at), with what orders the values.

--- TO_VARCHAR is Spark's; TO_TEXT is not
SELECT id, TO_TEXT(amount) AS amount FROM orders;
-- finding: calls an unknown function "TO_TEXT"
-- hint: Write CAST(amount AS STRING).
-- mend: TO_TEXT(amount) ==> CAST(amount AS STRING)

--- STRTOK
SELECT id, STRTOK(customer, '-', 1) AS part FROM orders;
-- finding: calls an unknown function "STRTOK"
-- hint: Write split_part(customer, '-', 1).
-- mend: STRTOK(customer, '-', 1) ==> split_part(customer, '-', 1)

--- SYSDATE
SELECT id, SYSDATE() AS t FROM orders;
-- finding: calls an unknown function "SYSDATE"
-- hint: A view reads no clock: use the event time, or _arrived_at AS arrived_at.

--- GETDATE
SELECT id, GETDATE() AS t FROM orders;
-- finding: calls an unknown function "GETDATE"
-- hint: A view reads no clock: use the event time, or _arrived_at AS arrived_at.

--- UNIX_TIMESTAMP without an argument
SELECT id, UNIX_TIMESTAMP() AS t FROM orders;
-- finding: calls "unix_timestamp", which is not a pure function
-- hint: Give it the timestamp that is meant, for example the event time.

--- monotonically_increasing_id
SELECT id, monotonically_increasing_id() AS n FROM orders;
-- finding: calls "monotonically_increasing_id", which is not a pure function
-- hint: Use a column of the event.

--- input_file_name
SELECT id, input_file_name() AS f FROM orders;
-- finding: calls "input_file_name", which is not a pure function
-- hint: Use a column of the event.

--- current_user
SELECT id, current_user() AS u FROM orders;
-- finding: calls "current_user", which is not a pure function
-- hint: Use a column of the event.

--- SELECT TOP
SELECT TOP 10 id FROM orders;
-- finding: uses TOP
-- hint: Write ORDER BY … LIMIT 10 at the end of the query.

--- a hint of Spark
SELECT /*+ BROADCAST(c) */ o.id, c.name FROM orders o JOIN countries c ON o.customer = c.country;
-- finding: joins table "countries" as it happens to be when a row is processed
-- hint: Declare when its rows changed, with WATERMARK FOR changed_at AS …, and write JOIN countries FOR SYSTEM_TIME AS OF o.at AS c ON …

--- EXPLODE inside an expression
SELECT id, upper(explode(items)) AS item FROM orders;
-- finding: makes rows with "explode" inside an expression
-- hint: Write LATERAL VIEW, or let it be a column of its own in SELECT.
-- mend: upper(explode(items)) ==> explode(items)

--- EXPLODE in WHERE
SELECT id FROM orders WHERE explode(items) = 'a';
-- finding: makes rows with "explode" in WHERE
-- hint: Write LATERAL VIEW, or let it be a column of its own in SELECT.

--- posexplode under one name
SELECT id, posexplode(items) AS item FROM orders;
-- finding: names another number of columns than a generator gives
-- hint: Write LATERAL VIEW POSEXPLODE(items) t AS position, item, with one name for each.

--- first without an order
SELECT customer, window_end, first_vlue(amount) AS f FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: calls an unknown function "first_vlue"
-- hint: Did you mean first_value?
-- mend: first_vlue ==> first_value

--- collect_list of everything
SELECT collect_list(id) AS ids FROM orders;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end,

--- rank without OVER
SELECT id, rank() AS place FROM orders;
-- finding: ranks rows with "rank" without OVER
-- hint: Give it an OVER clause in SELECT, and filter by it in QUALIFY.

--- row_number without ORDER BY
SELECT id, row_number() OVER (PARTITION BY at) AS place FROM orders;
-- finding: ranks rows with "row_number" in no stated order
-- hint: Add ORDER BY to the OVER clause.
-- mend: PARTITION BY at ==> PARTITION BY at ORDER BY id

--- lag without ORDER BY
SELECT id, lag(amount) OVER (PARTITION BY customer) AS before FROM orders;
-- finding: ranks rows with "lag" in no stated order
-- hint: Add ORDER BY to the OVER clause.

--- sum OVER without an order
SELECT id, sum(amount) OVER (PARTITION BY customer) AS spent FROM orders;
-- finding: looks at the rows around a row for ever
-- hint: Write a frame in time: sum(…) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR
-- mend: PARTITION BY customer ==> PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW
-- mend: SELECT id, ==> SELECT id, at,

--- OVER with an order but for ever
SELECT id, at, sum(amount) OVER (PARTITION BY customer ORDER BY at) AS spent FROM orders;
-- finding: looks at the rows around a row for ever
-- hint: Write a frame in time: sum(…) OVER (PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR
-- mend: ORDER BY at ==> ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW

--- OVER of a name that isn't declared
SELECT id, at, sum(amount) OVER w AS spent FROM orders;
-- finding: names an unknown window "w"
-- hint: Declare it with WINDOW w AS (…).

--- a frame that ends before it begins
SELECT id, at, sum(amount) OVER (ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL '1' HOUR PRECEDING) AS n FROM orders;
-- finding: has a frame that ends before it begins
-- hint: Write the earlier bound first.
-- mend: CURRENT ROW AND INTERVAL '1' HOUR PRECEDING ==> INTERVAL '1' HOUR PRECEDING AND CURRENT ROW

--- kll_sketch typo
SELECT window_end, aprox_count_distinct(customer) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "aprox_count_distinct"
-- hint: Did you mean approx_count_distinct?
-- mend: aprox_count_distinct ==> approx_count_distinct

--- UNPIVOT of columns that aren't there
SELECT id, name, value FROM orders UNPIVOT (value FOR name IN (amount, wieght));
-- finding: reads an unknown column "wieght"
-- hint: Did you mean "weight"?

--- EXCEPT ALL
SELECT id FROM orders EXCEPT ALL SELECT order_id FROM payments;
-- finding: uses EXCEPT ALL, which is not supported yet
-- hint: Count the rows of each side in groups, or write EXCEPT.

--- a union of other numbers of columns
SELECT id, amount FROM orders UNION ALL SELECT id FROM payments;
-- finding: unites queries with different numbers of columns
-- hint: Select the same columns on both sides, like CAST(NULL AS STRING) AS name for one that a side lacks.
-- mend: SELECT id FROM payments ==> SELECT id, paid FROM payments

--- a union of other types
SELECT id, at FROM orders UNION ALL SELECT id, items FROM orders;
-- finding: unites columns of different types as "at"
-- hint: Let both have one type, like CAST(items AS TIMESTAMP) AS at.

--- SELECT EXCEPT of an unknown column
SELECT * EXCEPT (wieght) FROM orders;
-- finding: reads an unknown column "wieght"
-- hint: Did you mean "weight"?
-- mend: wieght ==> weight

--- SELECT * REPLACE
SELECT * REPLACE (upper(customer) AS customer) FROM orders;
-- finding: uses REPLACE in *, which has no meaning here
-- hint: Write the columns out, with the expression in the place of the one to be replaced.
