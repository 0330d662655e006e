--- a sum in the order of a value, within a window
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY amount) AS spent FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- a sum in the order of a value, over all of time
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY amount) AS spent FROM orders
-- says: looks at the rows around a row for ever
-- mend: SELECT id, sum ==> WITH (retention = 'forever', key = 'id') AS SELECT id, sum

--- second by rank
SELECT id, customer, window_end, r FROM (SELECT *, rank() OVER (PARTITION BY window_end ORDER BY amount DESC) AS r FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE r = 2

--- several ranks
SELECT id, window_end, rank() OVER (PARTITION BY window_end ORDER BY amount DESC) AS r, dense_rank() OVER (PARTITION BY window_end, customer ORDER BY quantity) AS d, row_number() OVER (PARTITION BY window_end ORDER BY id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- two ranks that are asked for
SELECT id, window_end FROM (SELECT *, rank() OVER (PARTITION BY window_end ORDER BY amount DESC) AS r, row_number() OVER (PARTITION BY window_end, customer ORDER BY made_at, id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE r <= 5 AND n = 1

--- a named window
SELECT id, window_end, sum(amount) OVER w AS spent, count(*) OVER w AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) WINDOW w AS (PARTITION BY customer, window_end ORDER BY amount)

--- FILTER
SELECT id, window_end, sum(amount) FILTER (WHERE quantity > 2) OVER (PARTITION BY customer, window_end ORDER BY amount) AS spent FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- EXCLUDE CURRENT ROW
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY amount ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS others FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- says: has a frame with EXCLUDE, which Spark SQL doesn't have

--- EXCLUDE TIES
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY quantity RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) AS others FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- says: has a frame with EXCLUDE, which Spark SQL doesn't have

--- EXCLUDE GROUP
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY quantity RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP) AS others FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- says: has a frame with EXCLUDE, which Spark SQL doesn't have

--- EXCLUDE NO OTHERS
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY quantity RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) AS others FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- says: has a frame with EXCLUDE, which Spark SQL doesn't have

--- GROUPS
SELECT id, window_end, sum(amount) OVER (PARTITION BY customer, window_end ORDER BY quantity GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- says: has a frame with GROUPS, which Spark SQL doesn't have

--- LIMIT and OFFSET by rank
SELECT id, window_end, n FROM (SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY amount DESC, id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE n BETWEEN 3 AND 5

--- nth_value
SELECT id, window_end, nth_value(id, 2) OVER (PARTITION BY window_end ORDER BY amount, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS second FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- ntile and percent_rank
SELECT id, window_end, ntile(4) OVER (PARTITION BY window_end ORDER BY amount, id) AS quarter, percent_rank() OVER (PARTITION BY window_end ORDER BY amount) AS p, cume_dist() OVER (PARTITION BY window_end ORDER BY amount) AS c FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- a range of values
SELECT id, window_end, count(*) OVER (PARTITION BY window_end ORDER BY amount RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS near FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- last value that isn't NULL
SELECT id, window_end, last_value(weight) IGNORE NULLS OVER (PARTITION BY customer, window_end ORDER BY made_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS w FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)
-- duckdb: SELECT id, window_end, last_value(weight IGNORE NULLS) OVER (PARTITION BY customer, window_end ORDER BY made_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR)

--- rank over all of time
SELECT id, r FROM (SELECT *, rank() OVER (PARTITION BY customer ORDER BY amount DESC) AS r FROM orders) WHERE r = 2
-- says: ranks rows for ever
-- mend: SELECT id, r ==> WITH (retention = 'forever', key = 'id') AS SELECT id, r

--- top-N over all of time
SELECT id, customer, n FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY amount DESC) AS n FROM orders) WHERE n <= 3
-- says: ranks rows for ever
-- mend: SELECT id, customer, n ==> WITH (retention = 'forever') AS SELECT id, customer, n
