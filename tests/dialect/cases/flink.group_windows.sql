--- TUMBLE
SELECT customer, TUMBLE_START(made_at, INTERVAL '1' HOUR) AS opened, TUMBLE_END(made_at, INTERVAL '1' HOUR) AS closed, count(*) AS n FROM orders GROUP BY customer, TUMBLE(made_at, INTERVAL '1' HOUR)
-- says: uses TUMBLE(…) as a group, as old Flink has it
-- duckdb: SELECT customer, window_start, window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- TUMBLE_ROWTIME
SELECT customer, TUMBLE_ROWTIME(made_at, INTERVAL '1' HOUR) AS t, sum(amount) AS s FROM orders GROUP BY customer, TUMBLE(made_at, INTERVAL '1' HOUR)
-- says: uses TUMBLE(…) as a group, as old Flink has it
-- duckdb: SELECT customer, window_time, sum(amount) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- HOP
SELECT customer, HOP_START(made_at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR) AS opened, HOP_END(made_at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR) AS closed, count(*) AS n FROM orders GROUP BY customer, HOP(made_at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)
-- says: uses HOP(…) as a group, as old Flink has it
-- duckdb: SELECT customer, window_start, window_end, count(*) FROM HOP(orders, made_at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR) GROUP BY ALL

--- SESSION
SELECT customer, SESSION_START(made_at, INTERVAL '5' MINUTE) AS opened, SESSION_END(made_at, INTERVAL '5' MINUTE) AS closed, count(*) AS n FROM orders GROUP BY customer, SESSION(made_at, INTERVAL '5' MINUTE)
-- says: uses SESSION(…) as a group, as old Flink has it
-- duckdb: SELECT customer, min(made_at), max(made_at) + INTERVAL 5 MINUTE, count(*) FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *,
-- duckdb: CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 5 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at))
-- duckdb: WINDOW w AS (PARTITION BY customer ORDER BY made_at)) GROUP BY customer, nr

--- TUMBLE without its bounds
SELECT customer, count(*) AS n FROM orders GROUP BY customer, TUMBLE(made_at, INTERVAL '1' HOUR)
-- says: uses TUMBLE(…) as a group, as old Flink has it
-- duckdb: SELECT customer, n FROM (SELECT customer, window_end, count(*) AS n FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL)

--- HAVING
SELECT customer, TUMBLE_END(made_at, INTERVAL '1' HOUR) AS closed, count(*) AS n FROM orders GROUP BY customer, TUMBLE(made_at, INTERVAL '1' HOUR) HAVING count(*) > 1
-- says: uses TUMBLE(…) as a group, as old Flink has it
-- duckdb: SELECT customer, window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL HAVING count(*) > 1

--- a join beside it
SELECT o.customer, count(*) AS n FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '1' HOUR GROUP BY o.customer, TUMBLE(o.made_at, INTERVAL '1' HOUR)
-- says: makes windows by a function

--- processing time
SELECT customer, count(*) AS n FROM orders GROUP BY customer, TUMBLE(PROCTIME(), INTERVAL '1' HOUR)
-- says: makes windows by a function
-- says: calls an unknown function "PROCTIME"
