--- a misspelt column
SELECT id, amout FROM orders;
-- finding: reads an unknown column "amout"
-- hint: Did you mean "amount"?
-- mend: amout ==> amount

--- a misspelt column of an alias
SELECT o.id, o.amout FROM orders o;
-- finding: reads an unknown column "o.amout"
-- hint: Did you mean "amount"?
-- mend: amout ==> amount

--- a misspelt alias
SELECT p.id, o.amount FROM orders o;
-- finding: reads "p.id", but no input is named "p"
-- hint: Write o.id.
-- mend: p.id ==> o.id

--- a column of the other table
SELECT o.id, o.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.at c ON o.customer = c.customer;
-- finding: reads an unknown column "o.country"
-- hint: Write c.country.

--- a misspelt stream
SELECT id FROM ordres;
-- finding: reads "ordres", which is declared nowhere
-- hint: Did you mean "orders"?
-- mend: ordres ==> orders

--- a stream that is nowhere
SELECT id FROM shipments;
-- finding: reads "shipments", which is declared nowhere
-- hint: Did you mean "payments"?
-- mend: shipments ==> payments

--- a misspelt stream with many of its columns
SELECT id, customer, amount, weight FROM ordrs WHERE amount > 10 AND weight < 3;
-- finding: reads "ordrs", which is declared nowhere
-- hint: Did you mean "orders"?
-- mend: ordrs ==> orders

--- a misspelt stream in a window
SELECT customer, window_end, sum(amount) AS spent FROM TUMBLE(TABLE oders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY customer, window_end;
-- finding: reads "oders", which is declared nowhere
-- hint: Did you mean "orders"?
-- mend: oders ==> orders

--- a misspelt function
SELECT id, uper(customer) AS customer FROM orders;
-- finding: calls an unknown function "uper"
-- hint: Did you mean upper?
-- mend: uper ==> upper

--- a misspelt aggregate
SELECT window_end, cuont(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: calls an unknown function "cuont"
-- hint: Did you mean count?
-- mend: cuont ==> count

--- a function that is nowhere
SELECT id, frobnicate(customer) AS customer FROM orders;
-- finding: calls an unknown function "frobnicate"
-- hint: If it is yours, declare it: CREATE FUNCTION frobnicate(x STRING) RETURNS STRING RETURN ….

--- an ambiguous column
SELECT id, paid FROM orders o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: names a column "id" that more than one of its inputs has
-- hint: Write o.id or p.id.
-- finding: names a column "paid" that more than one of its inputs has
-- hint: Write o.paid or p.paid.
-- mend: SELECT id, paid ==> SELECT o.id, p.paid

--- an ambiguous column in ON
SELECT o.id FROM orders o JOIN payments p ON id = order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: names a column "id" that more than one of its inputs has
-- hint: Write o.id or p.id.
-- mend: ON id = ==> ON o.id =

--- a field that a struct hasn't
SELECT id, address.town AS town FROM orders;
-- finding: takes a field "town" that it hasn't
-- hint: Write one of its fields.

--- a field of a text
SELECT id, customer.name AS name FROM orders;
-- finding: takes a field "name" of a value that has none
-- hint: If it holds JSON, write get_json_object(…, '$.name'); else leave .name out.

--- an output without a name
SELECT id, amount * 2 FROM orders;
-- finding: has an output column without a name
-- hint: Give it a name with AS: amount * 2 AS name.
-- mend: amount * 2 ==> amount * 2 AS name

--- two outputs of one name
SELECT id, customer AS id FROM orders;
-- finding: has two output columns named "id"
-- hint: Give one of them another name with AS.
-- mend: AS id ==> AS customer

--- two outputs of one name from a join
SELECT o.*, p.* FROM orders o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: has two output columns named "id" and "customer" and "paid" and "at"
-- hint: Write p.* EXCEPT (id, customer, paid, at), and those you need with names of their own.
-- mend: p.* ==> p.* EXCEPT (id, customer, paid, at)

--- an output that is reserved
SELECT id, _arrived_at FROM orders;
-- finding: has an output column "_arrived_at", a name that belongs to the log
-- hint: Give it another name: _arrived_at AS arrived_at.
-- mend: _arrived_at ==> _arrived_at AS arrived_at

--- a column that is reserved
CREATE STREAM visits (_row BIGINT, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: declares a column "_row"
-- hint: Name it row.
-- mend: _row ==> row

--- a column twice
CREATE STREAM visits (page STRING, page STRING, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: declares the column "page" twice
-- hint: Leave one of them out, or give it another name.
-- mend: page STRING, page STRING ==> page STRING

--- a name twice
CREATE MATERIALIZED VIEW orders AS SELECT customer FROM clicks;
-- finding: has a name that is taken
-- hint: Give one of them another name.
-- mend: VIEW orders ==> VIEW names

--- a name twice, other case
CREATE STREAM Orders (id STRING, at TIMESTAMP, WATERMARK FOR at AS at);
-- finding: has a name that is taken
-- hint: Give one of them another name.

--- a function of Spark's name
CREATE FUNCTION upper(x STRING) RETURNS STRING RETURN x;
-- finding: has a name that is taken
-- hint: Give one of them another name.

--- a view of itself
CREATE MATERIALIZED VIEW v AS SELECT id FROM v;
-- finding: depends on itself
-- hint: Take one of the views out of the circle.

--- views in a circle
CREATE MATERIALIZED VIEW first AS SELECT id FROM second;
CREATE MATERIALIZED VIEW second AS SELECT id FROM first;
-- finding: depends on itself
-- hint: Take one of the views out of the circle.

--- views in a circle of three
CREATE VIEW a AS SELECT id FROM b;
CREATE VIEW b AS SELECT id FROM c;
CREATE VIEW c AS SELECT id FROM a;
-- finding: depends on itself
-- hint: Take one of the views out of the circle.

--- a reserved word as a name
SELECT id, select FROM orders;
-- finding: can't be parsed at "select"
-- hint: Write it in backquotes if it is a name: `select`.
-- mend: select FROM ==> customer FROM

--- a column with a hyphen
SELECT id, order-id FROM orders;
-- finding: reads an unknown column "order"
-- hint: A name with a hyphen in it is written in backquotes: `order-id`.

--- comparing a number with an instant
SELECT id FROM orders WHERE weight > at;
-- finding: applies ">" to DOUBLE and TIMESTAMP
-- hint: Write weight > CAST(at AS DOUBLE), or compare what was meant.
-- mend: weight > at ==> weight > CAST(at AS DOUBLE)

--- comparing an instant with a text that is no instant
SELECT id FROM orders WHERE amount > items;
-- finding: applies ">" to DECIMAL(12,2) and ARRAY<STRING>
-- hint: items is an array: take an element of it, like items[0].
-- mend: > items ==> > items[0]

--- adding texts and numbers
SELECT id, amount + items AS n FROM orders;
-- finding: applies "+" to DECIMAL(12,2) and ARRAY<STRING>
-- hint: items is an array: take an element of it, like items[0].

--- sum of texts in arrays
SELECT window_end, sum(items) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
-- finding: gives the function "sum" (ARRAY<STRING>)
-- hint: items is an array: take an element of it, like items[0].

--- upper of an array
SELECT id, upper(items) AS n FROM orders;
-- finding: gives the function "upper" (ARRAY<STRING>)
-- hint: items is an array: take an element of it, like items[0].
-- mend: items ==> items[0]

--- too many arguments
SELECT id, upper(customer, 2) AS n FROM orders;
-- finding: gives the function "upper" 2 arguments, and it takes 1
-- hint: Leave 1 of them out.
-- mend: , 2 ==> 

--- too few arguments
SELECT id, substring() AS n FROM orders;
-- finding: can't be parsed at ")"
-- hint: Write what is missing, or leave the word before it out.

--- WHERE is a number
SELECT id FROM orders WHERE quantity;
-- finding: applies "WHERE" to INT
-- hint: A condition is BOOLEAN: write quantity <> 0.
-- mend: WHERE quantity ==> WHERE quantity <> 0

--- CASE of different types
SELECT id, CASE WHEN paid THEN items ELSE amount END AS x FROM orders;
-- finding: applies "CASE" to ARRAY<STRING> and DECIMAL(12,2)
-- hint: Let all of them have one type, like CAST(… AS DECIMAL(12,2)).

--- NOT of a number
SELECT id FROM orders WHERE NOT quantity;
-- finding: applies "NOT" to INT
-- hint: A condition is BOOLEAN: write quantity <> 0.
-- mend: NOT quantity ==> NOT quantity <> 0

--- an unknown type in a cast
SELECT id, CAST(amount AS TXT) AS amount FROM orders;
-- finding: "TXT" is not a type
-- hint: Write STRING.
-- mend: TXT ==> STRING

--- an interval that is kept
SELECT id, _arrived_at - at AS took FROM orders;
-- finding: has a column "took" of type INTERVAL DAY TO SECOND, which can't be kept
-- hint: Write CAST(… AS type) AS took, or compute a number from it.

--- NULL without a type
SELECT id, NULL AS nothing FROM orders;
-- finding: has a column "nothing" of type VOID, which can't be kept
-- hint: Write CAST(… AS type) AS nothing, or compute a number from it.

--- a cast that can't be
SELECT id, CAST(items AS INT) AS n FROM orders;
-- finding: casts ARRAY<STRING> to INT, which Spark can't do
-- hint: items is an array: take an element of it, like items[0].
-- mend: items AS ==> items[0] AS

--- IN with another type
SELECT id FROM orders WHERE amount IN ('a', at);
-- finding: applies "IN" to DECIMAL(12,2) and STRING and TIMESTAMP
-- hint: Let all of them have one type, like CAST(… AS DECIMAL(12,2)).

--- COALESCE of two types
SELECT id, coalesce(items, amount) AS x FROM orders;
-- finding: gives the function "coalesce" (ARRAY<STRING>, DECIMAL(12,2))
-- hint: Let all of them have one type, like CAST(… AS DECIMAL(12,2)).

--- a date format that is a number
SELECT id, date_format(at, 5, 6) AS x FROM orders;
-- finding: gives the function "date_format" 3 arguments, and it takes 2
-- hint: Leave 1 of them out.

--- an element of a struct as of an array
SELECT id, address[0] AS x FROM orders;
-- finding: applies "[]" to struct<city:string,zip:string> and INT
-- hint: Write address.city: a struct has fields.
-- mend: address[0] ==> address.city

--- an unknown store
CREATE MATERIALIZED VIEW v WITH (store = 'mian') AS SELECT id FROM orders;
-- finding: names a store "mian" that is not declared
-- hint: Did you mean "main"?

--- a misspelt option
CREATE MATERIALIZED VIEW v WITH (grase = '1 minute') AS SELECT id FROM orders;
-- finding: has no option "grase"
-- hint: Did you mean "grace"?
-- mend: grase ==> grace

--- a value that is no duration
CREATE MATERIALIZED VIEW v WITH (grace = 'soon') AS SELECT id FROM orders;
-- finding: gives option "grace" a value that it can't take
-- hint: grace takes a duration, like '10 minutes'.
-- mend: 'soon' ==> '10 minutes'

--- a duration as a number
CREATE MATERIALIZED VIEW v WITH (grace = 5) AS SELECT id FROM orders;
-- finding: gives option "grace" a value that it can't take
-- hint: grace takes a duration, like '10 minutes'.
-- mend: 5) ==> '5 minutes')

--- a duration with a misspelt unit
CREATE MATERIALIZED VIEW v WITH (grace = '5 minuts') AS SELECT id FROM orders;
-- finding: gives option "grace" a value that it can't take
-- hint: grace takes a duration, like '10 minutes'.

--- an option twice
CREATE MATERIALIZED VIEW v WITH (grace = '5 minutes', grace = '6 minutes') AS SELECT id FROM orders;
-- finding: gives option "grace" twice
-- hint: Leave one of them out.
-- mend: , grace = '6 minutes' ==> 

--- an option without a value
CREATE MATERIALIZED VIEW v WITH (grace) AS SELECT id FROM orders;
-- finding: can't be parsed at ")"
-- hint: Write grace = '…'.
-- mend: (grace) ==> (grace = '10 minutes')

--- emit of another word
CREATE MATERIALIZED VIEW v WITH (emit = 'append') AS SELECT id FROM orders;
-- finding: gives option "emit" a value that it can't take
-- hint: emit takes 'changes' or 'final'.
-- mend: 'append' ==> 'changes'

--- execution of another word
CREATE MATERIALIZED VIEW v WITH (execution = 'stream') AS SELECT id FROM orders;
-- finding: gives option "execution" a value that it can't take
-- hint: execution takes 'live', 'settle' or 'batch'.
-- mend: 'stream' ==> 'live'

--- a key that isn't shown
CREATE MATERIALIZED VIEW v WITH (key = 'customer') AS SELECT id FROM orders;
-- finding: declares a key "customer" that is not in its output
-- hint: Add customer to the SELECT, or leave it out of the key.
-- mend: SELECT id ==> SELECT id, customer

--- emit = 'final' of groups without an end
CREATE MATERIALIZED VIEW v WITH (emit = 'final', retention = '1 day') AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;
-- finding: can't keep emit = 'final'
-- hint: Write emit = 'changes', or group by a window.
-- mend: 'final' ==> 'changes'

--- options of a view that is not materialized
CREATE VIEW v WITH (store = 'main') AS SELECT id FROM orders;
-- finding: has no option "store"
-- hint: Leave WITH out: a view has no options. CREATE MATERIALIZED VIEW has some.
-- mend:  WITH (store = 'main') ==> 

--- a stream's misspelt option and a view of it
CREATE STREAM visits (page STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (unqiue = 'page');
CREATE MATERIALIZED VIEW pages AS SELECT page FROM visits;
CREATE MATERIALIZED VIEW pages2 AS SELECT page, count(*) AS n FROM visits WHERE other > 2 GROUP BY page;
-- finding: has no option "unqiue"
-- hint: Did you mean "unique"?
-- mend: unqiue ==> unique
-- mend: WHERE other > 2 GROUP BY page ==> GROUP BY page
-- mend: VIEW pages2 ==> VIEW pages2 WITH (retention = '1 day')

--- a stream that can't be parsed and a view of it
CREATE STREAM visits (page STRING at TIMESTAMP, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW pages AS SELECT page FROM visits;
-- finding: can't be parsed at "at"
-- hint: Is a comma or a word missing before "at"?
-- mend: STRING at ==> STRING, at

--- a view with an unknown column and a view of it
CREATE MATERIALIZED VIEW wide AS SELECT id, amuont FROM orders;
CREATE MATERIALIZED VIEW narrow AS SELECT id, amuont FROM wide;
-- finding: reads an unknown column "amuont"
-- hint: Did you mean "amount"?
-- mend: amuont ==> amount

--- a view that can't be parsed and an outlet of it
CREATE MATERIALIZED VIEW wide AS SELECT id, FROM orders;
CREATE OUTLET out FROM wide TO 'kafka://wide';
-- finding: can't be parsed at "FROM"
-- hint: Leave the comma out, or write what is missing behind it.
-- mend: id, FROM ==> id FROM

--- a view with a misspelt option, joined
CREATE MATERIALIZED VIEW wide WITH (grce = '1 minute') AS SELECT id, at FROM orders;
CREATE MATERIALIZED VIEW narrow AS SELECT o.id, p.paid FROM wide o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
-- finding: has no option "grce"
-- hint: Did you mean "grace"?
-- mend: grce ==> grace

--- a function that can't be read and a view that calls it
CREATE FUNCTION twice(x INT) RETURNS INTT RETURN x * 2;
CREATE MATERIALIZED VIEW v AS SELECT id, twice(quantity) AS n FROM orders;
-- finding: "INTT" is not a type
-- hint: Did you mean "INT"?
-- mend: INTT ==> INT

--- a stream with an unknown type and the late rows of a view of it
CREATE STREAM visits (page STRNG, at TIMESTAMP, WATERMARK FOR at AS at);
CREATE MATERIALIZED VIEW pages AS SELECT window_end, count(*) AS n FROM TUMBLE(TABLE visits, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end;
CREATE MATERIALIZED VIEW missed AS SELECT * FROM late(pages);
-- finding: "STRNG" is not a type
-- hint: Did you mean "STRING"?

--- late rows of a stream
SELECT * FROM late(orders);
-- finding: reads the late rows of "orders", which is no view
-- hint: Name a materialized view.
