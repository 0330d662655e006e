--- TUMBLE_START alone
SELECT customer, TUMBLE_START(at, INTERVAL '1' MINUTE) AS opened FROM orders;
-- finding: makes windows by a function
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE), window_start in SELECT, and

--- TUMBLE_END beside a window table function
SELECT customer, TUMBLE_END(at, INTERVAL '1' MINUTE) AS closed, count(*) AS n
FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: makes windows by a function
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE), window_end in SELECT, and
-- mend: TUMBLE_END(at, INTERVAL '1' MINUTE) AS closed ==> window_end

--- TUMBLE_PROCTIME
SELECT TUMBLE_PROCTIME(at, INTERVAL '1' MINUTE) AS t FROM orders;
-- finding: makes windows by a function
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE), window_time in SELECT, and

--- HOP_END
SELECT HOP_END(at, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE) AS closed FROM orders;
-- finding: makes windows by a function
-- hint: Write FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), window_end in

--- SESSION_END
SELECT customer, SESSION_END(at, INTERVAL '10' MINUTE) AS closed FROM orders;
-- finding: makes windows by a function
-- hint: Write FROM SESSION(TABLE orders PARTITION BY …, DESCRIPTOR(at), INTERVAL '10' MINUTE), window_end in

--- PROCTIME()
SELECT id, PROCTIME() AS seen FROM orders;
-- finding: calls an unknown function "PROCTIME"
-- hint: Use the event time, or _arrived_at AS arrived_at: when the event came, which the log has written down.
-- mend: PROCTIME() AS seen ==> _arrived_at AS arrived_at

--- PROCTIME column
CREATE STREAM visits (page STRING, at TIMESTAMP, seen AS PROCTIME(), WATERMARK FOR at AS at);
-- finding: a stream or table can't have computed columns
-- hint: Declare what the events carry; compute the rest in a view.
-- mend: , seen AS PROCTIME() ==> 

--- UNNEST in SELECT
SELECT id, UNNEST(items) AS item FROM orders;
-- finding: calls an unknown function "UNNEST"
-- hint: Write explode(items).
-- mend: UNNEST(items) ==> explode(items)

--- TO_TIMESTAMP_LTZ
SELECT id, TO_TIMESTAMP_LTZ(quantity, 3) AS t FROM orders;
-- finding: gives the function "to_timestamp_ltz" (INT, INT)
-- hint: Write timestamp_millis(quantity).
-- mend: TO_TIMESTAMP_LTZ(quantity, 3) ==> timestamp_millis(quantity)

--- JSON_VALUE
SELECT id, JSON_VALUE(body, '$.city') AS city FROM orders;
-- finding: calls an unknown function "JSON_VALUE"
-- hint: Write get_json_object(body, '$.city').
-- mend: JSON_VALUE(body, '$.city') ==> get_json_object(body, '$.city')

--- JSON_QUERY
SELECT id, JSON_QUERY(body, '$.city') AS city FROM orders;
-- finding: calls an unknown function "JSON_QUERY"
-- hint: Write get_json_object(body, '$.city').
-- mend: JSON_QUERY(body, '$.city') ==> get_json_object(body, '$.city')

--- JSON_EXISTS
SELECT id FROM orders WHERE JSON_EXISTS(body, '$.city');
-- finding: calls an unknown function "JSON_EXISTS"
-- hint: Write get_json_object(body, '$.city') IS NOT NULL.
-- mend: JSON_EXISTS(body, '$.city') ==> get_json_object(body, '$.city') IS NOT NULL

--- JSON_OBJECT
SELECT id, JSON_OBJECT('id' VALUE id) AS body FROM orders;
-- finding: uses JSON_OBJECT
-- hint: Write to_json(named_struct('id', id)), with a name before each value.

--- LISTAGG with a column list
SELECT window_end, LISTAGG(customer, ',') AS customers
FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end ORDER BY window_end;
-- finding: is ordered, but the rows of a view have no order
-- hint: Leave ORDER BY out and order when you query the view, or add LIMIT for the first rows.
-- mend:  ORDER BY window_end ==> 

--- INSERT INTO
INSERT INTO totals SELECT customer, sum(amount) FROM orders GROUP BY customer;
-- finding: "INSERT" doesn't start a declaration
-- hint: Write CREATE MATERIALIZED VIEW name AS SELECT …: it is kept up to date by itself. Events are appended
-- mend: INSERT INTO totals SELECT customer, sum(amount) ==> CREATE MATERIALIZED VIEW totals WITH (retention = '30 days') AS SELECT customer, sum(amount) AS spent

--- CREATE TABLE WITH a Flink connector of files
CREATE TABLE visits (page STRING, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = 'visits', 'format' = 'json');
-- finding: gives option "connector" a value that it can't take
-- hint: Write connector = 'folder', path = '…'.
-- mend: 'filesystem' ==> 'folder'

--- Flink's Kafka options
CREATE STREAM visits (page STRING, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'visits', 'properties.bootstrap.servers' = 'localhost:9092');
-- finding: has no option "properties.bootstrap.servers"
-- hint: Write brokers = 'host:9092', or [kafka.main] in headwater.toml.
-- mend: 'properties.bootstrap.servers' ==> brokers

--- scan.startup.mode
CREATE STREAM visits (page STRING, at TIMESTAMP(3), WATERMARK FOR at AS at)
WITH (connector = 'kafka', topic = 'visits', 'scan.startup.mode' = 'earliest-offset');
-- finding: has no option "scan.startup.mode"
-- hint: Write start = 'earliest' or 'latest', or an instant.
-- mend: 'scan.startup.mode' = 'earliest-offset' ==> start = 'earliest'

--- METADATA column
CREATE STREAM visits (page STRING, at TIMESTAMP METADATA FROM 'timestamp', WATERMARK FOR at AS at)
WITH (connector = 'kafka', topic = 'visits');
-- finding: a stream or table can't have METADATA columns
-- hint: Declare the column, and write WITH (message_time = '…'); there are message_key and message_headers too.
-- mend:  METADATA FROM 'timestamp' ==> 
-- mend: topic = 'visits') ==> topic = 'visits', message_time = 'at')

--- computed event time
CREATE STREAM visits (page STRING, ms BIGINT, at AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR at AS at);
-- finding: a stream or table can't have computed columns
-- hint: Declare what the events carry; compute the rest in a view.

--- watermark by an expression
CREATE STREAM visits (page STRING, ms BIGINT, WATERMARK FOR at AS TO_TIMESTAMP_LTZ(ms, 3));
-- finding: the watermark follows from something other than a column and a delay
-- hint: Write WATERMARK FOR at AS at - INTERVAL '5' SECOND.
-- mend: ms BIGINT ==> at TIMESTAMP
-- mend: TO_TIMESTAMP_LTZ(ms, 3) ==> at - INTERVAL '5' SECOND

--- watermark of a column that isn't there
CREATE STREAM visits (page STRING, seen TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
-- finding: names an unknown column "at" in WATERMARK
-- hint: Its columns are page, seen.
-- mend: FOR at AS at ==> FOR seen AS seen

--- watermark over a text
CREATE STREAM visits (page STRING, at STRING, WATERMARK FOR at AS at - INTERVAL '5' SECOND);
-- finding: takes time from "at", which is a STRING
-- hint: Declare it as at TIMESTAMP.
-- mend: at STRING ==> at TIMESTAMP

--- watermark with an interval of months
CREATE STREAM visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' MONTH);
-- finding: the delay of a watermark is not a constant interval of fixed length
-- hint: Write an interval like INTERVAL '5' SECOND.
-- mend: INTERVAL '1' MONTH ==> INTERVAL '5' SECOND

--- watermark without FOR
CREATE STREAM visits (page STRING, at TIMESTAMP, WATERMARK at AS at - INTERVAL '5' SECOND);
-- finding: WATERMARK lacks FOR
-- hint: Write WATERMARK FOR at AS at - INTERVAL '5' SECOND.
-- mend: WATERMARK at AS ==> WATERMARK FOR at AS

--- watermark misspelt
CREATE STREAM visits (page STRING, at TIMESTAMP, WATERMAK FOR at AS at - INTERVAL '5' SECOND);
-- finding: "WATERMAK" is not a clause
-- hint: Did you mean "WATERMARK"?
-- mend: WATERMAK ==> WATERMARK

--- TUMBLE with size and column the other way round
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, INTERVAL '1' MINUTE, DESCRIPTOR(at)) GROUP BY window_end;
-- finding: TUMBLE takes the column of time before its lengths
-- hint: Write TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE).
-- mend: INTERVAL '1' MINUTE, DESCRIPTOR(at) ==> DESCRIPTOR(at), INTERVAL '1' MINUTE

--- TUMBLE over a text of a duration
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), '1 minute') GROUP BY window_end;
-- finding: the size of TUMBLE is not a constant interval of fixed length
-- hint: Write INTERVAL '1 minute'.
-- mend: '1 minute' ==> INTERVAL '1 minute'

--- TUMBLE over a bare number
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), 60) GROUP BY window_end;
-- finding: the size of TUMBLE is not a constant interval of fixed length
-- hint: Write an interval of days or shorter units, like INTERVAL '1' MINUTE.
-- mend: 60 ==> INTERVAL '1' MINUTE

--- HOP without its slide
SELECT window_end, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) GROUP BY window_end;
-- finding: HOP lacks its size
-- hint: Write HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), the slide before the size.
-- mend: INTERVAL '1' HOUR ==> INTERVAL '1' MINUTE, INTERVAL '5' MINUTE

--- HOP with size before slide
SELECT window_end, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '5' MINUTE) GROUP BY window_end;
-- finding: the slide of HOP is longer than its size
-- hint: HOP takes the slide first, then the size.
-- mend: INTERVAL '1' HOUR, INTERVAL '5' MINUTE ==> INTERVAL '5' MINUTE, INTERVAL '1' HOUR

--- HOP whose slide doesn't divide its size
SELECT window_end, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '7' MINUTE, INTERVAL '1' HOUR) GROUP BY window_end;
-- finding: has a hopping window whose size is not a multiple of its slide
-- hint: Choose a slide that divides the size, like INTERVAL '6 minutes'.
-- mend: INTERVAL '7' MINUTE ==> INTERVAL '6 minutes'

--- CUMULATE with size before step
SELECT window_end, count(*) AS n FROM CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY, INTERVAL '1' HOUR) GROUP BY window_end;
-- finding: the size of CUMULATE is not a multiple of its step
-- hint: CUMULATE takes the step first, then the size.
-- mend: INTERVAL '1' DAY, INTERVAL '1' HOUR ==> INTERVAL '1' HOUR, INTERVAL '1' DAY

--- TUMBLE of a month of HOP
SELECT window_end, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY, INTERVAL '1' MONTH) GROUP BY window_end;
-- finding: the size of HOP is not a constant interval of fixed length
-- hint: Months and years have no fixed length: write TUMBLE for them, or the size of HOP in days.
-- mend: INTERVAL '1' MONTH ==> INTERVAL '30' DAY

--- TUMBLING as a table function
SELECT window_end, count(*) AS n FROM TUMBLING(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: uses a window that isn't there
-- hint: Did you mean TUMBLE? Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE); there are
-- mend: TUMBLING ==> TUMBLE

--- SLIDE as a table function
SELECT window_end, count(*) AS n FROM SLIDE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE) GROUP BY window_end;
-- finding: uses a window that isn't there
-- hint: Did you mean HOP? Write FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5'
-- mend: SLIDE ==> HOP

--- HOPPING as a table function
SELECT window_end, count(*) AS n FROM HOPPING(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE) GROUP BY window_end;
-- finding: uses a window that isn't there
-- hint: Did you mean HOP? Write FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '5'
-- mend: HOPPING ==> HOP

--- TUMBEL
SELECT window_end, count(*) AS n FROM TUMBEL(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: uses a window that isn't there
-- hint: Did you mean TUMBLE? Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE); there are
-- mend: TUMBEL ==> TUMBLE

--- window function of a column that isn't time
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(day), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: windows over "day", which is not the time of its input
-- hint: Write DESCRIPTOR(at), or DESCRIPTOR(_arrived_at) for the time of arrival.
-- mend: DESCRIPTOR(day) ==> DESCRIPTOR(at)

--- window over a stream without watermark
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: uses the event time of stream "clicks", which declares no watermark
-- hint: Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration.

--- the negative size
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '-1' MINUTE) GROUP BY window_end;
-- finding: the size of TUMBLE is not positive
-- hint: Write a length above zero, like TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE).
-- mend: '-1' ==> '1'

--- TUMBLE partitioned
SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: TUMBLE takes no PARTITION BY
-- hint: Group the windows by these columns instead.
-- mend:  PARTITION BY customer ==> 

--- SESSION without its partition
SELECT customer, window_end, count(*) AS n FROM SESSION(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: groups sessions by other columns than those they are made of
-- hint: Name the same columns in PARTITION BY and in GROUP BY.
-- mend: TABLE orders ==> TABLE orders PARTITION BY customer

--- window_strat
SELECT window_strat, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_strat;
-- finding: reads an unknown column "window_strat"
-- hint: Did you mean "window_start"?
-- mend: window_strat ==> window_start

--- window_start without a window
SELECT window_start, count(*) AS n FROM orders GROUP BY window_start;
-- finding: reads an unknown column "window_start"
-- hint: Make windows in FROM: FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE).
-- mend: FROM orders ==> FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)

--- ARRAY_AGG over changelog hint
SELECT /*+ STATE_TTL('o' = '1h') */ customer, count(*) AS n FROM orders o GROUP BY customer;
-- finding: groups rows for ever
-- hint: Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY customer, window_start,
-- mend: /*+ STATE_TTL('o' = '1h') */  ==> 
-- mend: CREATE MATERIALIZED VIEW v ==> CREATE MATERIALIZED VIEW v WITH (retention = '30 days')

--- OVER with two orders
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY weight RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS spent FROM orders;
-- finding: has a frame in time over rows that time doesn't order
-- hint: Write RANGE, and order by one column of time.

--- MATCH_RECOGNIZE
SELECT * FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer ORDER BY at MEASURES A.amount AS first PATTERN (A B)
  DEFINE B AS B.amount > A.amount
);
-- finding: looks for a pattern that may never end
-- hint: Write WITHIN INTERVAL '10' MINUTE behind the pattern: how long a match may last. Or write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer, window_end.
-- mend: PATTERN (A B) ==> PATTERN (A B) WITHIN INTERVAL '10' MINUTE

--- TRY_CAST misspelt
SELECT id, TRYCAST(amount AS STRING) AS amount FROM orders;
-- finding: calls an unknown function "TRYCAST"
-- hint: Write TRY_CAST(amount AS STRING).
-- mend: TRYCAST ==> TRY_CAST

--- ROW constructor with names
SELECT id, ROW(customer, amount) AS pair FROM orders;
-- finding: calls an unknown function "ROW"
-- hint: Write struct(customer, amount).
-- mend: ROW( ==> struct(

--- SPLIT_INDEX
SELECT id, SPLIT_INDEX(customer, '-', 0) AS part FROM orders;
-- finding: calls an unknown function "SPLIT_INDEX"
-- hint: Write split(customer, '-')[0].
-- mend: SPLIT_INDEX(customer, '-', 0) ==> split(customer, '-')[0]

--- DATE_FORMAT of Flink is Spark's, CONVERT_TZ is not
SELECT id, CONVERT_TZ(body, 'UTC', 'Europe/Berlin') AS t FROM orders;
-- finding: calls an unknown function "CONVERT_TZ"
-- hint: Write from_utc_timestamp(to_utc_timestamp(body, 'UTC'), 'Europe/Berlin').
-- mend: CONVERT_TZ(body, 'UTC', 'Europe/Berlin') ==> from_utc_timestamp(to_utc_timestamp(body, 'UTC'), 'Europe/Berlin')

--- TO_TIMESTAMP with an unknown name TO_TIMESTMP
SELECT id, TO_TIMESTMP(body) AS t FROM orders;
-- finding: calls an unknown function "TO_TIMESTMP"
-- hint: Did you mean to_timestamp or try_to_timestamp or to_utc_timestamp?
-- mend: TO_TIMESTMP ==> to_timestamp

--- LATERAL TABLE
SELECT id, item FROM orders, LATERAL TABLE(split_items(items)) AS t(item);
-- finding: makes rows with LATERAL TABLE(…), as Flink has it
-- hint: Write LATERAL VIEW explode(items) t AS element.
-- mend: , LATERAL TABLE(split_items(items)) AS t(item) ==>  LATERAL VIEW explode(items) t AS item

--- CREATE CATALOG
CREATE CATALOG hive WITH ('type' = 'hive');
-- finding: CREATE CATALOG declares nothing here
-- hint: Leave it out: a project is one catalog, its folder.

--- SET
SET 'table.exec.state.ttl' = '1 h';
-- finding: "SET" doesn't start a declaration
-- hint: Put settings into headwater.toml.

--- STATEMENT SET
BEGIN STATEMENT SET;
-- finding: "BEGIN" doesn't start a declaration
-- hint: Leave it out: declarations have no transactions.

--- USE CATALOG
USE CATALOG hive;
-- finding: "USE" doesn't start a declaration
-- hint: Leave it out: a project is one catalog, its folder.

--- CREATE FUNCTION AS class
CREATE FUNCTION score AS 'com.example.Score' LANGUAGE JAVA;
-- finding: can't be parsed at "AS"
-- hint: Write its parameters: CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2.
-- mend: score AS 'com.example.Score' LANGUAGE JAVA ==> twice(x INT) RETURNS INT RETURN x * 2

--- DROP
DROP TABLE orders;
-- finding: "DROP" doesn't start a declaration
-- hint: Delete the declaration from its file.

--- a WINDOW join without window_start
SELECT l.window_end, l.customer FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) l
JOIN TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) r ON l.customer = r.customer;
-- finding: joins stream "orders" and stream "payments" without a bound in time
-- hint: Join the same windows: AND l.window_start = r.window_start AND l.window_end = r.window_end.
-- mend: ON l.customer = r.customer ==> ON l.customer = r.customer AND l.window_start = r.window_start AND l.window_end = r.window_end

--- TEMPORARY VIEW
CREATE TEMPORARY VIEW big AS SELECT id FROM orders WHERE amount > 100;
-- finding: TEMPORARY means nothing here
-- hint: Leave TEMPORARY out.
-- mend: TEMPORARY  ==> 

--- window TVF with DESCRIPTOR of two parts
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders o, DESCRIPTOR(o.at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: can't be parsed at "o"
-- hint: Did you mean "ORDER"?
