--- count of rows and values
SELECT window_end, count(*) AS n, count(weight) AS weighed FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- sum, avg, min, max
SELECT customer, window_end, sum(quantity) AS s, avg(weight) AS a, min(amount) AS least, max(amount) AS most FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end
-- says: aggregates with "avg", whose value may differ between executions

--- count DISTINCT
SELECT window_end, count(DISTINCT customer) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- sum DISTINCT
SELECT window_end, sum(DISTINCT quantity) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- FILTER
SELECT window_end, count(*) FILTER (WHERE quantity > 2) AS many, sum(amount) FILTER (WHERE customer = 'ada') AS of_ada FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- FILTER with DISTINCT
SELECT window_end, count(DISTINCT customer) FILTER (WHERE quantity > 1) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- CASE in an aggregate
SELECT window_end, sum(CASE WHEN quantity > 2 THEN 1 ELSE 0 END) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- GROUPING SETS
SELECT customer, quantity, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end, GROUPING SETS ((customer), (quantity), ())

--- ROLLUP
SELECT customer, quantity, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end, ROLLUP (customer, quantity)

--- CUBE
SELECT customer, quantity, window_end, sum(amount) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end, CUBE (customer, quantity)

--- GROUPING_ID
SELECT customer, window_end, grouping_id(customer) AS g, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end, ROLLUP (customer)
-- duckdb: SELECT customer, window_end, grouping(customer), count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY window_start, window_end, ROLLUP (customer)

--- HAVING
SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end HAVING count(*) > 1

--- HAVING with another aggregate
SELECT customer, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end HAVING sum(amount) > 5

--- a group by an expression
SELECT upper(customer) AS c, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY upper(customer), window_start, window_end

--- a group by a position
SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY 1, 2

--- a group without its keys
SELECT sum(amount) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end

--- DISTINCT over a window
SELECT DISTINCT customer, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- COLLECT
SELECT window_end, COLLECT(customer) AS c FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- says: calls an unknown function "COLLECT"

--- LISTAGG
SELECT window_end, LISTAGG(id, '-') AS ids FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- duckdb: SELECT window_end, string_agg(id, '-' ORDER BY made_at, id) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY window_end

--- STDDEV_POP
SELECT window_end, stddev_pop(weight) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- says: aggregates with "stddev_pop", whose value may differ between executions

--- VAR_SAMP
SELECT window_end, var_samp(weight) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- says: aggregates with "var_samp", whose value may differ between executions

--- FIRST_VALUE as an aggregate
SELECT customer, window_end, first_value(id) AS f FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end
-- duckdb: SELECT customer, window_end, arg_min(id, made_at) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- LAST_VALUE as an aggregate
SELECT customer, window_end, last_value(id) AS l FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end
-- duckdb: SELECT customer, window_end, arg_max(id, made_at) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- an aggregate of an aggregate
SELECT window_end, max(s) AS best FROM (SELECT customer, window_start, window_end, sum(amount) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end) GROUP BY window_start, window_end

--- arithmetic of aggregates
SELECT window_end, sum(quantity) * 2 + count(*) AS x FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- count over nothing
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) WHERE quantity > 100 OR quantity = 0 GROUP BY window_start, window_end

--- window_time
SELECT window_time, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end, window_time

--- a literal beside aggregates
SELECT window_end, 'all' AS kind, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- GROUP BY without a window
SELECT customer, count(*) AS n FROM orders GROUP BY customer
-- says: groups rows for ever

--- GROUP BY of a table
SELECT maker, count(*) AS n, avg(price) AS a FROM products GROUP BY maker

--- JSON_OBJECTAGG
SELECT maker, JSON_OBJECTAGG(KEY sku VALUE name) AS j FROM products GROUP BY maker
-- says: materialized view "v" can't be parsed at "sku"

--- APPROX_COUNT_DISTINCT
SELECT window_end, APPROX_COUNT_DISTINCT(customer) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- unanswered: it is approximate
