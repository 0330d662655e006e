--- rank
SELECT id, rank() OVER (PARTITION BY shop ORDER BY pieces) AS r FROM stock

--- ntile
SELECT id, ntile(3) OVER (PARTITION BY shop ORDER BY pieces, id) AS t FROM stock

--- percent_rank
SELECT id, percent_rank() OVER (PARTITION BY shop ORDER BY pieces) AS p, cume_dist() OVER (PARTITION BY shop ORDER BY pieces) AS c FROM stock

--- a frame of rows
SELECT id, sum(pieces) OVER (PARTITION BY shop ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM stock

--- a frame of a range
SELECT id, count(*) OVER (PARTITION BY shop ORDER BY pieces RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM stock

--- a frame of groups
SELECT id, count(*) OVER (PARTITION BY shop ORDER BY pieces GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM stock
-- says: has a frame with GROUPS, which Spark SQL doesn't have

--- EXCLUDE
SELECT id, sum(pieces) OVER (PARTITION BY shop ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS s FROM stock
-- says: has a frame with EXCLUDE, which Spark SQL doesn't have

--- a named window
SELECT id, sum(pieces) OVER w AS s, max(pieces) OVER w AS m FROM stock WINDOW w AS (PARTITION BY shop ORDER BY id)

--- a window of a named window
SELECT id, sum(pieces) OVER (w ORDER BY id) AS s FROM stock WINDOW w AS (PARTITION BY shop)

--- FILTER with OVER
SELECT id, count(*) FILTER (WHERE pieces > 3) OVER (PARTITION BY shop ORDER BY id) AS n FROM stock

--- over aggregates
SELECT shop, sum(pieces) AS s, rank() OVER (ORDER BY sum(pieces) DESC) AS r FROM stock GROUP BY shop

--- nth_value
SELECT id, nth_value(id, 2) OVER (PARTITION BY shop ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS second FROM stock

--- lag of two
SELECT id, lag(pieces, 2, -1) OVER (PARTITION BY shop ORDER BY id) AS l FROM stock

--- lead
SELECT id, lead(id) OVER (PARTITION BY shop ORDER BY id) AS l FROM stock

--- OVER ()
SELECT id, sum(pieces) OVER () AS s FROM stock

--- DISTINCT of a window
SELECT DISTINCT shop, sum(pieces) OVER (PARTITION BY shop) AS s FROM stock
