--- tumble of three arguments
SELECT customer, window_start, sum(amount) AS spent FROM tumble(orders, made_at, INTERVAL '1 hour') GROUP BY customer, window_start

--- hop
SELECT customer, window_start, sum(amount) AS spent FROM hop(orders, made_at, INTERVAL '10 minutes', INTERVAL '1 hour') GROUP BY customer, window_start

--- EMIT ON WINDOW CLOSE
SELECT customer, window_start, count(*) AS n FROM tumble(orders, made_at, INTERVAL '1 hour') GROUP BY customer, window_start EMIT ON WINDOW CLOSE

--- SESSION of a window function
SELECT id, first_value(made_at) OVER (PARTITION BY customer ORDER BY made_at SESSION WITH GAP INTERVAL '5 minutes') AS opened FROM orders
-- says: can't be parsed at "SESSION"

--- date_bin
SELECT date_bin(INTERVAL '1 hour', made_at, TIMESTAMP '1970-01-01 00:00:00') AS h, count(*) AS n FROM orders GROUP BY 1
-- says: makes windows by a function

--- temporal filter
SELECT id, made_at FROM orders WHERE made_at > now() - INTERVAL '1 hour'
-- says: calls "now", which is not a pure function

--- temporal join
SELECT o.id, p.name FROM orders o LEFT JOIN products FOR SYSTEM_TIME AS OF PROCTIME() AS p ON o.customer = p.sku
-- says: uses PROCTIME() in a join with a table
-- duckdb: SELECT o.id, NULL FROM orders o

--- as-of join
SELECT o.id, c.country FROM orders o ASOF JOIN customers c ON o.customer = c.customer AND o.made_at >= c.changed_at
-- duckdb: SELECT o.id, c.country FROM orders o ASOF JOIN changes c ON o.customer = c.customer AND o.made_at >= c.changed_at

--- DISTINCT ON
WITH (retention = 'forever') AS SELECT DISTINCT ON (customer) customer, id, amount FROM orders ORDER BY customer, amount DESC, id

--- generate_series
SELECT * FROM generate_series(1, 3) AS g(n)
-- says: reads rows that "generate_series" makes

--- an approximate count
SELECT window_end, approx_count_distinct(customer) AS n FROM tumble(orders, made_at, INTERVAL '1 hour') GROUP BY window_end
-- unanswered: it is approximate

--- OVER with a window close
SELECT id, lag(amount) OVER (PARTITION BY customer ORDER BY made_at) AS before FROM orders EMIT ON WINDOW CLOSE
-- says: looks with "lag" at rows of any age
-- mend: SELECT id ==> WITH (retention = 'forever', key = 'id') AS SELECT id
-- mend:  EMIT ON WINDOW CLOSE ==>
