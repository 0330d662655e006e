--- retention of a minute
SELECT customer, count(*) AS n FROM orders WHERE mz_now() <= made_at + INTERVAL '1 hour' GROUP BY customer
-- says: calls an unknown function "mz_now"

--- between
SELECT customer, count(*) AS n FROM orders WHERE mz_now() BETWEEN made_at AND made_at + INTERVAL '1 hour' GROUP BY customer
-- says: calls an unknown function "mz_now"

--- not yet
SELECT id FROM orders WHERE mz_now() >= made_at
-- says: calls an unknown function "mz_now"

--- stateless
SELECT id, made_at FROM orders WHERE mz_now() < made_at + INTERVAL '1 day'
-- says: calls an unknown function "mz_now"

--- DISTINCT ON
SELECT DISTINCT ON (maker) maker, sku, price FROM products ORDER BY maker, price DESC, sku

--- windows by a lateral series
SELECT customer, date_trunc('hour', made_at) AS h, count(*) AS n FROM orders GROUP BY 1, 2
-- says: groups rows for ever

--- LATERAL top-K
SELECT m.maker, p.sku FROM (SELECT DISTINCT maker FROM products) m, LATERAL (SELECT sku, price FROM products p WHERE p.maker = m.maker ORDER BY price DESC LIMIT 3) p
-- duckdb: SELECT maker, sku FROM products QUALIFY maker IS NOT NULL AND row_number() OVER (PARTITION BY maker ORDER BY price DESC) <= 3

--- mutually recursive
WITH MUTUALLY RECURSIVE reach (a STRING) AS (SELECT sku FROM products UNION SELECT maker FROM products) SELECT * FROM reach
-- says: uses WITH MUTUALLY RECURSIVE, as Materialize has it

--- list_agg
SELECT maker, list_agg(sku ORDER BY sku) AS l FROM products GROUP BY maker
-- says: calls an unknown function "list_agg"
