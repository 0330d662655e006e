--- gap_fill
SELECT window_start, customer, count(*) AS n FROM gap_fill(TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) GROUP BY window_start, customer
-- says: uses GAP_FILL, which is not supported yet

--- carry forward by a window function
SELECT customer, window_end, last_value(spent) IGNORE NULLS OVER (PARTITION BY customer ORDER BY window_end ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS carried FROM (SELECT customer, window_start, window_end, sum(amount) AS spent FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end)
-- says: looks at the rows around a row for ever
