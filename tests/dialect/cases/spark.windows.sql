--- window
SELECT window(made_at, '1 hour').end AS e, count(*) AS n FROM orders GROUP BY window(made_at, '1 hour')
-- says: uses window(…) as a group, as Spark has it
-- duckdb: SELECT window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY window_end

--- window that slides
SELECT window(made_at, '1 hour', '30 minutes').start AS s, count(*) AS n FROM orders GROUP BY window(made_at, '1 hour', '30 minutes')
-- says: uses window(…) as a group, as Spark has it
-- duckdb: SELECT window_start, count(*) FROM HOP(orders, made_at, INTERVAL '30' MINUTE, INTERVAL '1' HOUR) GROUP BY window_start

--- window with a key
SELECT customer, window(made_at, '1 hour').start AS s, sum(amount) AS a FROM orders GROUP BY customer, window(made_at, '1 hour')
-- says: uses window(…) as a group, as Spark has it
-- duckdb: SELECT customer, window_start, sum(amount) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- window that isn't shown
SELECT customer, sum(amount) AS a FROM orders GROUP BY customer, window(made_at, '1 hour')
-- says: uses window(…) as a group, as Spark has it
-- duckdb: SELECT customer, a FROM (SELECT customer, window_end, sum(amount) AS a FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL)

--- session_window
SELECT customer, session_window(made_at, '20 minutes').start AS s, count(*) AS n FROM orders GROUP BY customer, session_window(made_at, '20 minutes')
-- says: uses session_window(…) as a group, as Spark has it
-- duckdb: SELECT customer, min(made_at), count(*) FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *, CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 20 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at)) WINDOW w AS (PARTITION BY customer ORDER BY made_at)) GROUP BY customer, nr

--- window with an offset
SELECT window(made_at, '1 hour', '1 hour', '15 minutes').start AS s, count(*) AS n FROM orders GROUP BY window(made_at, '1 hour', '1 hour', '15 minutes')
-- says: uses window(…) as a group, as Spark has it
-- duckdb: SELECT time_bucket(INTERVAL '1 hour', made_at, TIMESTAMP '2000-01-01 00:15:00') AS s, count(*) FROM orders GROUP BY s

--- window_time
SELECT window_time(window(made_at, '1 hour')) AS t, count(*) AS n FROM orders GROUP BY window(made_at, '1 hour')
-- says: calls the function "window_time", which no view can use
-- says: calls the function "window", which no view can use

--- current_timestamp
SELECT id FROM orders WHERE made_at > current_timestamp() - INTERVAL 1 HOUR
-- says: calls "current_timestamp", which is not a pure function

--- dropDuplicates
SELECT DISTINCT id, made_at FROM orders

--- a streaming LIMIT
SELECT id FROM orders LIMIT 5
-- says: keeps a number of rows without saying which
