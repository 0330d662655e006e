--- the last hour
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s FROM orders

--- the last hour of everybody
SELECT id, count(*) OVER (ORDER BY made_at RANGE BETWEEN INTERVAL '30' MINUTE PRECEDING AND CURRENT ROW) AS n FROM orders

--- two aggregates of a frame
SELECT id, min(amount) OVER w AS least, max(amount) OVER w AS most FROM orders WINDOW w AS (PARTITION BY customer ORDER BY made_at RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND CURRENT ROW)

--- rows ahead
SELECT id, count(*) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN CURRENT ROW AND INTERVAL '1' HOUR FOLLOWING) AS n FROM orders

--- unbounded
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY made_at) AS s FROM orders
-- says: looks at the rows around a row for ever

--- unbounded, for ever
WITH (retention = 'forever', key = 'id') AS SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY made_at) AS s FROM orders

--- the last rows
SELECT id, avg(weight) OVER (PARTITION BY customer ORDER BY made_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM orders
-- says: aggregates with "avg", whose value may differ between executions
-- says: looks at the rows around a row for ever

--- the last rows, for ever
WITH (retention = 'forever', key = 'id') AS SELECT id, sum(quantity) OVER (PARTITION BY customer ORDER BY made_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM orders

--- LAG
WITH (retention = 'forever', key = 'id') AS SELECT id, LAG(amount) OVER (PARTITION BY customer ORDER BY made_at) AS l FROM orders

--- LAG with a default
WITH (retention = 'forever', key = 'id') AS SELECT id, LAG(quantity, 2, 0) OVER (PARTITION BY customer ORDER BY made_at) AS l FROM orders

--- LEAD
WITH (retention = 'forever', key = 'id') AS SELECT id, LEAD(id) OVER (PARTITION BY customer ORDER BY made_at) AS l FROM orders

--- ROW_NUMBER
WITH (retention = 'forever', key = 'id') AS SELECT id, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY made_at) AS n FROM orders

--- FIRST_VALUE
WITH (retention = 'forever', key = 'id') AS SELECT id, FIRST_VALUE(id) OVER (PARTITION BY customer ORDER BY made_at) AS f FROM orders

--- LAST_VALUE
SELECT id, LAST_VALUE(id) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS l FROM orders

--- over windows
SELECT id, window_end, sum(amount) OVER (PARTITION BY window_end ORDER BY made_at) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- a share of a window
SELECT id, window_end, CAST(amount AS DOUBLE) / CAST(sum(amount) OVER (PARTITION BY window_end) AS DOUBLE) AS share FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- DISTINCT in a frame
SELECT id, count(DISTINCT quantity) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS n FROM orders

--- by processing time
SELECT id, count(*) OVER (PARTITION BY customer ORDER BY PROCTIME()) AS n FROM orders
-- says: calls an unknown function "PROCTIME"

--- ordered downwards
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY made_at DESC RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s FROM orders
-- duckdb: SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY made_at RANGE BETWEEN CURRENT ROW AND INTERVAL '1' HOUR FOLLOWING) FROM orders
