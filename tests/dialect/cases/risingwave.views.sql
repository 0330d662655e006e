--- a view over a view that changes
CREATE MATERIALIZED VIEW per_maker AS SELECT maker, count(*) AS n FROM products GROUP BY maker; CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS makers FROM per_maker GROUP BY n
-- unanswered: two views are no query

--- HOP with an unaligned slide
SELECT window_end, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(made_at), INTERVAL '7' MINUTE, INTERVAL '1' HOUR) GROUP BY window_end
-- says: has a hopping window whose size is not a multiple of its slide
-- mend: '7' ==> '6'

--- sessions grouped by other columns
SELECT quantity, window_start, window_end, count(*) AS n FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(made_at), INTERVAL '5' MINUTE) GROUP BY quantity, window_start, window_end
-- says: groups sessions by other columns than those they are made of
-- mend: PARTITION BY customer ==> PARTITION BY quantity
-- duckdb: SELECT quantity, min(made_at), max(made_at) + INTERVAL 5 MINUTE, count(*) FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *,
-- duckdb: CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 5 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY quantity ORDER BY made_at))
-- duckdb: WINDOW w AS (PARTITION BY quantity ORDER BY made_at)) GROUP BY quantity, nr

--- a window of windows
SELECT window_end, sum(n) AS n FROM TUMBLE((SELECT window_time AS t, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' MINUTE) GROUP BY window_start, window_end, window_time), DESCRIPTOR(t), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- duckdb: SELECT time_bucket(INTERVAL '1 hour', window_time) + INTERVAL 1 HOUR AS e, count(*) FROM TUMBLE(orders, made_at, INTERVAL '10' MINUTE) GROUP BY ALL

--- a join of windows within a bound in time
SELECT a.customer, a.window_end, b.n FROM (SELECT customer, window_start, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '10' MINUTE) GROUP BY customer, window_start, window_end) a JOIN (SELECT customer, window_start, window_end, count(*) AS n FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '10' MINUTE) GROUP BY customer, window_start, window_end) b ON a.customer = b.customer AND b.window_end BETWEEN a.window_end AND a.window_end + INTERVAL '20' MINUTE
