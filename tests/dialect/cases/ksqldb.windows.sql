--- TUMBLING
SELECT customer, count(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- TUMBLING with a grace period
SELECT customer, count(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 10 MINUTES) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- TUMBLING, final
SELECT customer, sum(amount) AS spent FROM orders WINDOW TUMBLING (SIZE 30 SECONDS, RETENTION 1 DAYS, GRACE PERIOD 10 SECONDS) GROUP BY customer EMIT FINAL
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, sum(amount), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '30' SECOND) GROUP BY ALL

--- HOPPING
SELECT customer, count(*) AS n, WINDOWSTART AS opened, WINDOWEND AS closed FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW HOPPING (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), window_start, window_end FROM HOP(orders, made_at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR) GROUP BY ALL

--- SESSION
SELECT customer, count(*) AS n FROM orders WINDOW SESSION (5 MINUTES) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW SESSION (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), min(made_at), max(made_at) + INTERVAL 5 MINUTE FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *,
-- duckdb: CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 5 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at))
-- duckdb: WINDOW w AS (PARTITION BY customer ORDER BY made_at)) GROUP BY customer, nr

--- SESSION with a grace period
SELECT customer, count(*) AS n FROM orders WINDOW SESSION (5 MINUTES, GRACE PERIOD 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW SESSION (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), min(made_at), max(made_at) + INTERVAL 5 MINUTE FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *,
-- duckdb: CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 5 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at))
-- duckdb: WINDOW w AS (PARTITION BY customer ORDER BY made_at)) GROUP BY customer, nr

--- WITHIN
SELECT o.id, p.paid FROM orders o INNER JOIN payments p WITHIN 1 HOURS ON o.id = p.order_id EMIT CHANGES
-- says: uses WITHIN in a join, as ksqlDB has it
-- duckdb: SELECT o.id, p.paid FROM orders o  JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at - INTERVAL 1 HOUR AND o.made_at + INTERVAL 1 HOUR

--- WITHIN before and after
SELECT o.id, p.paid FROM orders o LEFT JOIN payments p WITHIN (0 SECONDS, 1 HOUR) ON o.id = p.order_id EMIT CHANGES
-- says: can't keep emit = 'changes'
-- says: uses WITHIN in a join, as ksqlDB has it
-- mend: EMIT CHANGES ==> EMIT FINAL
-- duckdb: SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at - INTERVAL 0 SECOND AND o.made_at + INTERVAL 1 HOUR

--- WITHIN with a grace period
SELECT o.id, p.paid FROM orders o INNER JOIN payments p WITHIN 1 HOURS GRACE PERIOD 15 MINUTES ON o.id = p.order_id EMIT CHANGES
-- says: uses WITHIN in a join, as ksqlDB has it
-- duckdb: SELECT o.id, p.paid FROM orders o  JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at - INTERVAL 1 HOUR AND o.made_at + INTERVAL 1 HOUR

--- CREATE TABLE AS SELECT
CREATE TABLE per_customer AS SELECT customer, count(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: table "per_customer" is the result of a query, as others have it
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- unanswered: as TUMBLING

--- CREATE STREAM AS SELECT
CREATE STREAM large AS SELECT id, amount FROM orders WHERE amount > 10 EMIT CHANGES
-- says: stream "large" is the result of a query, as others have it
-- unanswered: as a query alone

--- PARTITION BY
SELECT id, customer FROM orders PARTITION BY customer EMIT CHANGES
-- says: uses PARTITION BY of a stream, as ksqlDB has it
-- mend:  PARTITION BY customer ==> 
-- duckdb: SELECT id, customer FROM orders

--- LATEST_BY_OFFSET
SELECT customer, window_end, LATEST_BY_OFFSET(amount) AS last_amount FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_end
-- says: calls an unknown function "LATEST_BY_OFFSET"
-- mend: LATEST_BY_OFFSET(amount) ==> last(amount)
-- duckdb: SELECT customer, window_end, arg_max(amount, made_at) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- TOPK
SELECT customer, window_end, TOPK(amount, 3) AS best FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_end
-- says: calls an unknown function "TOPK"
-- mend: TOPK(amount, 3) ==> slice(sort_array(collect_list(amount), false), 1, 3)
-- duckdb: SELECT customer, window_end, list_slice(list_reverse_sort(list(amount)), 1, 3) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- STRUCT access
SELECT id, address->city AS city FROM orders EMIT CHANGES
-- says: uses -> for the field of a struct, as ksqlDB has it
-- duckdb: SELECT id, address.city AS city FROM orders

--- ROWTIME
SELECT id, ROWTIME AS t FROM orders
-- says: uses ROWTIME, as ksqlDB has it
-- duckdb: SELECT id, made_at FROM orders

--- ROWTIME of a window
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(rowtime), INTERVAL '1' MINUTE) GROUP BY window_end
-- says: uses ROWTIME, as ksqlDB has it
-- duckdb: SELECT window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' MINUTE) GROUP BY ALL

--- SESSION grouped by an expression
SELECT lower(customer) AS c, count(*) AS n FROM orders WINDOW SESSION (5 MINUTES) GROUP BY lower(customer) EMIT FINAL
-- says: sessions are grouped by something that isn't a column
