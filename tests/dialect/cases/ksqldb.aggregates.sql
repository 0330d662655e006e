--- COUNT of a table
SELECT maker, COUNT(*) AS n FROM products GROUP BY maker EMIT CHANGES

--- COUNT_DISTINCT
SELECT customer, COUNT_DISTINCT(quantity) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: calls an unknown function "COUNT_DISTINCT"
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it

--- COLLECT_LIST
SELECT customer, COLLECT_LIST(quantity) AS l FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, list(quantity ORDER BY made_at), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- COLLECT_SET
SELECT customer, COLLECT_SET(quantity) AS l FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, list_sort(list(DISTINCT quantity)), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- HISTOGRAM
SELECT window_end, HISTOGRAM(customer) AS h FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY window_end
-- says: calls an unknown function "HISTOGRAM"

--- AVG
SELECT customer, AVG(weight) AS a FROM orders WINDOW TUMBLING (SIZE 2 HOURS) GROUP BY customer EMIT FINAL
-- says: aggregates with "avg", whose value may differ between executions
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, avg(weight), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '2' HOUR) GROUP BY ALL

--- EARLIEST_BY_OFFSET
SELECT customer, EARLIEST_BY_OFFSET(id) AS f FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: calls an unknown function "EARLIEST_BY_OFFSET"
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it

--- TOPKDISTINCT
SELECT customer, TOPKDISTINCT(quantity, 2) AS t FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer EMIT CHANGES
-- says: calls an unknown function "TOPKDISTINCT"
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it

--- HAVING
SELECT customer, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer HAVING COUNT(*) > 1 EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, count(*), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL HAVING count(*) > 1

--- a group by two
SELECT customer, quantity, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer, quantity EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, quantity, count(*), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- WHERE and a window
SELECT customer, SUM(amount) AS s FROM orders WINDOW TUMBLING (SIZE 1 HOUR) WHERE quantity > 1 GROUP BY customer EMIT CHANGES
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, sum(amount), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) WHERE quantity > 1 GROUP BY ALL

--- without a window
SELECT customer, COUNT(*) AS n FROM clicks GROUP BY customer EMIT CHANGES
-- says: holds every row of stream "clicks" for ever, which declares no watermark

--- STDDEV_SAMP
SELECT customer, STDDEV_SAMP(weight) AS s FROM orders WINDOW TUMBLING (SIZE 6 HOURS) GROUP BY customer EMIT CHANGES
-- says: aggregates with "stddev_samp", whose value may differ between executions
-- says: uses WINDOW TUMBLING (…), as ksqlDB has it
-- duckdb: SELECT customer, stddev_samp(weight), window_start, window_end FROM TUMBLE(orders, made_at, INTERVAL '6' HOUR) GROUP BY ALL

--- HOPPING with a sum
SELECT customer, SUM(quantity) AS s FROM orders WINDOW HOPPING (SIZE 30 MINUTES, ADVANCE BY 10 MINUTES) GROUP BY customer EMIT CHANGES
-- says: uses WINDOW HOPPING (…), as ksqlDB has it
-- duckdb: SELECT customer, sum(quantity), window_start, window_end FROM HOP(orders, made_at, INTERVAL '10' MINUTE, INTERVAL '30' MINUTE) GROUP BY ALL
