--- ORDER BY and LIMIT
SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10
-- says: ranks rows for ever

--- ORDER BY and LIMIT, for ever
WITH (retention = 'forever') AS SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 10

--- ORDER BY, LIMIT and OFFSET, for ever
WITH (retention = 'forever') AS SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 10 OFFSET 5

--- ORDER BY and LIMIT of a table
SELECT sku, price FROM products ORDER BY price DESC, sku LIMIT 3

--- LIMIT of groups
WITH (retention = 'forever') AS SELECT customer, sum(amount) AS spent FROM orders GROUP BY customer ORDER BY spent DESC, customer LIMIT 3

--- LIMIT of groups of a table
SELECT maker, count(*) AS n FROM products GROUP BY maker ORDER BY n DESC, maker LIMIT 2
-- duckdb: SELECT maker, count(*) AS n FROM products GROUP BY maker ORDER BY n DESC, maker NULLS FIRST LIMIT 2

--- FETCH FIRST
SELECT sku, price FROM products ORDER BY price DESC, sku FETCH FIRST 3 ROWS ONLY

--- LIMIT without an order
SELECT sku FROM products LIMIT 3
-- says: keeps a number of rows without saying which

--- FETCH WITH TIES
SELECT sku, price FROM products ORDER BY price DESC FETCH FIRST 3 ROWS WITH TIES
-- duckdb: SELECT sku, price FROM products QUALIFY rank() OVER (ORDER BY price DESC) <= 3

--- LIMIT in a subquery
SELECT max(price) AS most FROM (SELECT price FROM products ORDER BY price, sku LIMIT 3)

--- LIMIT per window
SELECT id, window_end, amount FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) ORDER BY amount DESC LIMIT 3
-- says: ranks rows for ever

--- LATERAL with LIMIT
SELECT m.maker, p.sku, p.price FROM (SELECT DISTINCT maker FROM products) AS m, LATERAL (SELECT sku, price FROM products WHERE maker = m.maker ORDER BY price DESC, sku LIMIT 2) AS p
-- duckdb: SELECT maker, sku, price FROM products QUALIFY maker IS NOT NULL AND row_number() OVER (PARTITION BY maker ORDER BY price DESC, sku) <= 2

--- LIMIT ALL
SELECT sku, price FROM products LIMIT ALL

--- an order by numbers of columns
SELECT sku, price FROM products ORDER BY 2 DESC, 1 LIMIT 3
