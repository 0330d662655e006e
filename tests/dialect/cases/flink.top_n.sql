--- top 3 of a window
SELECT id, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY amount DESC, id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE n <= 3

--- top 3 without the rank
SELECT id, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY amount DESC, id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE n <= 3

--- top 1 of each
SELECT customer, id, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer, window_start, window_end ORDER BY amount DESC, id) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE n = 1

--- RANK
SELECT id, window_end, r FROM (SELECT *, RANK() OVER (PARTITION BY window_start, window_end ORDER BY quantity DESC) AS r FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE r <= 2

--- DENSE_RANK
SELECT id, window_end, r FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY window_start, window_end ORDER BY quantity DESC) AS r FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) WHERE r < 3

--- top of an aggregation
SELECT customer, window_end, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY s DESC, customer) AS n FROM (SELECT customer, window_start, window_end, sum(amount) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end)) WHERE n <= 2
-- duckdb: SELECT customer, window_end, s FROM (SELECT customer, window_end, sum(amount) AS s FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) GROUP BY ALL) QUALIFY row_number() OVER (PARTITION BY window_end ORDER BY s DESC, customer NULLS FIRST) <= 2

--- QUALIFY
SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY amount DESC, id) <= 2

--- over all of time
SELECT id, customer, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC) AS n FROM orders) WHERE n <= 3
-- says: ranks rows for ever

--- over all of time, held
WITH (retention = 'forever') AS SELECT id, customer, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM orders) WHERE n <= 3

--- over all of time, without the rank
WITH (retention = 'forever') AS SELECT id, customer FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM orders) WHERE n <= 3

--- the second alone
WITH (retention = 'forever') AS SELECT id, customer FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM orders) WHERE n = 2

--- a page
WITH (retention = 'forever') AS SELECT id, amount FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY amount DESC, id) AS n FROM orders) WHERE n BETWEEN 6 AND 15

--- more than some
WITH (retention = 'forever', key = 'id') AS SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM orders) WHERE n > 5

--- the last of each
WITH (retention = 'forever') AS SELECT customer, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY made_at DESC) AS n FROM orders) WHERE n = 1

--- the first of each
WITH (retention = 'forever') AS SELECT customer, id, made_at FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY made_at) AS n FROM orders) WHERE n = 1

--- of a table
SELECT maker, sku, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY maker ORDER BY price DESC, sku) AS n FROM products) WHERE n <= 2

--- of a table, ranked
SELECT sku, r FROM (SELECT *, RANK() OVER (ORDER BY price DESC) AS r FROM products) WHERE r <= 4

--- of a join
SELECT sku, shop, pieces FROM (SELECT p.sku, s.shop, s.pieces, s.id, ROW_NUMBER() OVER (PARTITION BY s.shop ORDER BY s.pieces DESC, s.id) AS n FROM products p JOIN stock s ON p.sku = s.sku) WHERE n <= 2
