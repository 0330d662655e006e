--- a filter
SELECT sku, price FROM products WHERE price > 4

--- DISTINCT
SELECT DISTINCT maker FROM products

--- count of DISTINCT
SELECT count(DISTINCT maker) AS n FROM products

--- top 1 by DISTINCT ON
SELECT DISTINCT ON (shop) shop, id, pieces FROM stock ORDER BY shop, pieces DESC, id

--- top k by LATERAL
SELECT shop, id FROM (SELECT DISTINCT shop FROM stock) g, LATERAL (SELECT id, pieces FROM stock s WHERE s.shop = g.shop ORDER BY pieces DESC, id LIMIT 2)

--- top k by ROW_NUMBER
SELECT shop, id FROM (SELECT *, row_number() OVER (PARTITION BY shop ORDER BY pieces DESC, id) AS n FROM stock) WHERE n <= 2

--- LIMIT
SELECT sku, price FROM products ORDER BY price DESC, sku LIMIT 4

--- LIMIT and OFFSET
SELECT sku, price FROM products ORDER BY price DESC, sku LIMIT 4 OFFSET 2

--- an order that isn't shown
SELECT sku FROM products ORDER BY price DESC, sku LIMIT 4

--- an order of groups that isn't shown
SELECT shop FROM stock GROUP BY shop ORDER BY sum(pieces) DESC, shop LIMIT 1

--- a join that hides keys
SELECT p.name, s.shop FROM products p JOIN stock s ON p.sku = s.sku

--- a table that hides its key
SELECT maker, price FROM products

--- a self join
SELECT a.id, b.id AS other FROM stock a, stock b WHERE a.sku = b.sku AND a.id < b.id

--- a comma join
SELECT p.sku, s.id FROM products p, stock s WHERE p.sku = s.sku

--- a cross join
SELECT p.sku, s.id FROM products p, stock s WHERE p.price < 1

--- an outer join with a filter
SELECT p.sku, s.id FROM products p LEFT JOIN stock s ON p.sku = s.sku AND s.pieces > 3

--- UNION ALL of tables
SELECT sku FROM products UNION ALL SELECT sku FROM stock
-- says: can't keep its rows up to date

--- UNION ALL of tables, with a key
SELECT sku, 'p' AS kind, 0 AS id FROM products UNION ALL SELECT sku, 's', id FROM stock
-- says: can't keep its rows up to date

--- EXCEPT
SELECT sku FROM products EXCEPT SELECT sku FROM stock

--- INTERSECT
SELECT sku FROM products INTERSECT SELECT sku FROM stock

--- EXCEPT ALL
SELECT sku FROM products EXCEPT ALL SELECT sku FROM stock
-- says: uses EXCEPT ALL, which is not supported yet

--- lag over a table
SELECT id, lag(pieces) OVER (PARTITION BY shop ORDER BY id) AS before FROM stock

--- a running sum
SELECT id, sum(pieces) OVER (PARTITION BY shop ORDER BY id) AS s FROM stock

--- rank over a table
SELECT id, rank() OVER (PARTITION BY shop ORDER BY pieces DESC) AS r FROM stock

--- a share
SELECT id, pieces / sum(pieces) OVER (PARTITION BY shop) AS share FROM stock

--- first_value
SELECT id, first_value(id) OVER (PARTITION BY shop ORDER BY pieces DESC, id) AS best FROM stock

--- jsonb_agg
SELECT maker, jsonb_agg(sku) AS j FROM products GROUP BY maker
-- says: calls an unknown function "jsonb_agg"

--- jsonb_object_agg
SELECT maker, jsonb_object_agg(sku, name) AS j FROM products GROUP BY maker
-- says: calls an unknown function "jsonb_object_agg"

--- map_agg
SELECT maker, map_agg(sku, name) AS m FROM products GROUP BY maker
-- says: calls an unknown function "map_agg"

--- list_agg
SELECT maker, list_agg(sku) AS l FROM products GROUP BY maker
-- says: calls an unknown function "list_agg"

--- string_agg
SELECT maker, string_agg(sku, '+' ORDER BY sku DESC) AS s FROM products GROUP BY maker

--- date_bin
SELECT date_bin('1 hour', made_at, TIMESTAMP '2026-01-01 00:00:00') AS h, count(*) AS n FROM orders GROUP BY 1
-- says: makes windows by a function

--- date_trunc, held
WITH (retention = 'forever') AS SELECT date_trunc('hour', made_at) AS h, count(*) AS n FROM orders GROUP BY date_trunc('hour', made_at)

--- generate_series in LATERAL
SELECT id, g FROM stock, LATERAL generate_series(1, pieces) AS g
-- says: makes rows with "generate_series", which makes none

--- a table function
SELECT g FROM generate_series(1, 3) AS g
-- says: reads rows that "generate_series" makes

--- a repeated row
SELECT repeat_row(2)
-- says: reads nothing

--- VALUES
VALUES (1, 'a'), (2, 'b')
-- says: a view is a query

--- an EXISTS of an outer row
SELECT shop, count(*) AS n FROM stock s WHERE EXISTS (SELECT 1 FROM products p WHERE p.sku = s.sku AND p.price > 3) GROUP BY shop

--- a mean of groups
SELECT avg(n) AS mean FROM (SELECT maker, count(*) AS n FROM products GROUP BY maker)

--- groups of groups
SELECT n, count(*) AS makers FROM (SELECT maker, count(*) AS n FROM products GROUP BY maker) GROUP BY n

--- groups of hidden groups
SELECT max(n) AS most FROM (SELECT count(*) AS n FROM products GROUP BY maker)

--- NULLs among groups
SELECT maker, count(*) AS n FROM products WHERE maker IS NULL GROUP BY maker
