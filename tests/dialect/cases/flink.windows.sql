--- TUMBLE with an offset
SELECT window_start, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR, INTERVAL '15' MINUTE) GROUP BY window_start, window_end
-- duckdb: SELECT time_bucket(INTERVAL '1 hour', made_at, TIMESTAMP '2000-01-01 00:15:00') AS s, time_bucket(INTERVAL '1 hour', made_at, TIMESTAMP '2000-01-01 00:15:00') + INTERVAL 1 HOUR, count(*) FROM orders GROUP BY ALL

--- TUMBLE with named arguments
SELECT window_end, count(*) AS n FROM TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(made_at), SIZE => INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- duckdb: SELECT window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL

--- HOP
SELECT customer, window_start, window_end, sum(amount) AS s FROM HOP(TABLE orders, DESCRIPTOR(made_at), INTERVAL '30' MINUTE, INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end

--- CUMULATE
SELECT window_start, window_end, sum(amount) AS s FROM CUMULATE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '20' MINUTE, INTERVAL '1' HOUR) GROUP BY window_start, window_end

--- CUMULATE of a day
SELECT window_start, window_end, count(*) AS n FROM CUMULATE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '2' HOUR, INTERVAL '1' DAY) GROUP BY window_start, window_end

--- SESSION
SELECT customer, window_start, window_end, count(*) AS n FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(made_at), INTERVAL '20' MINUTE) GROUP BY customer, window_start, window_end
-- duckdb: SELECT customer, min(made_at), max(made_at) + INTERVAL 20 MINUTE, count(*) FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *, CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 20 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at)) WINDOW w AS (PARTITION BY customer ORDER BY made_at)) GROUP BY customer, nr

--- SESSION of everything
SELECT window_start, window_end, count(*) AS n FROM SESSION(TABLE orders, DESCRIPTOR(made_at), INTERVAL '6' MINUTE) GROUP BY window_start, window_end
-- duckdb: SELECT min(made_at), max(made_at) + INTERVAL 6 MINUTE, count(*) FROM (SELECT *, sum(begins) OVER w AS nr FROM (SELECT *, CAST(made_at >= coalesce(lag(made_at) OVER w + INTERVAL 6 MINUTE, made_at) AS INT) AS begins FROM orders WINDOW w AS (ORDER BY made_at)) WINDOW w AS (ORDER BY made_at)) GROUP BY nr

--- rows with their windows
SELECT id, window_start, window_end, window_time FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- rows of HOP
SELECT id, window_end FROM HOP(TABLE orders, DESCRIPTOR(made_at), INTERVAL '30' MINUTE, INTERVAL '1' HOUR)

--- a filter on a window
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) WHERE window_end > TIMESTAMP '2026-01-05 10:00:00' GROUP BY window_start, window_end

--- a window of a subquery
SELECT window_end, count(*) AS n FROM TUMBLE((SELECT made_at, quantity FROM orders WHERE quantity > 1), DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- duckdb: SELECT window_end, count(*) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) WHERE quantity > 1 GROUP BY window_end

--- a window of days
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' DAY) GROUP BY window_start, window_end

--- a window of seconds
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '90' SECOND) GROUP BY window_start, window_end
-- duckdb: SELECT time_bucket(INTERVAL '90 seconds', made_at, TIMESTAMP '1970-01-01') + INTERVAL 90 SECOND AS e, count(*) FROM orders GROUP BY e

--- only the start of HOP
SELECT window_start, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(made_at), INTERVAL '15' MINUTE, INTERVAL '1' HOUR) GROUP BY window_start

--- windows of two aggregations
SELECT window_start, window_end, sum(n) AS n FROM (SELECT customer, window_start, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end) GROUP BY window_start, window_end

--- a window over something that isn't the time
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(id), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- says: windows over "id", which is not the time of its input

--- a window of a stream without time
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE clicks, DESCRIPTOR(n), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- says: uses the event time of stream "clicks", which declares no watermark

--- a window without a size
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at)) GROUP BY window_start, window_end
-- says: TUMBLE lacks its size

--- a window over a view
CREATE VIEW dear AS SELECT * FROM orders WHERE amount > 5; CREATE MATERIALIZED VIEW v AS SELECT window_end, count(*) AS n FROM TUMBLE(TABLE dear, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- unanswered: two views are no query
