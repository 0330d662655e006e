--- a concatenation
SELECT sku, name || ' by ' || coalesce(maker, 'nobody') AS t FROM products

--- a cast
SELECT sku, price::INT AS p FROM products
-- duckdb: SELECT sku, CAST(trunc(price) AS INT) FROM products

--- IS NULL
SELECT sku FROM products WHERE maker IS NULL

--- NOT BETWEEN
SELECT sku FROM products WHERE price NOT BETWEEN 2 AND 6

--- LIKE with ESCAPE
SELECT sku FROM products WHERE name LIKE 'k!_%' OR name LIKE 'k%' ESCAPE '!'

--- CASE without ELSE
SELECT sku, CASE WHEN price > 5 THEN 'dear' END AS k FROM products

--- a boolean column
SELECT sku, price > 5 AS dear FROM products

--- NOT
SELECT sku FROM products WHERE NOT (price > 5 OR maker = 'acme')

--- AT TIME ZONE
SELECT id, made_at AT TIME ZONE 'Europe/Vienna' AS t FROM orders
-- says: Spark SQL has no AT TIME ZONE

--- to_timestamp
SELECT id, to_timestamp('2026-01-05 09:00:00') AS t FROM orders
-- duckdb: SELECT id, TIMESTAMP '2026-01-05 09:00:00' FROM orders

--- age
SELECT id, age(made_at, TIMESTAMP '2026-01-01') AS a FROM orders
-- says: calls an unknown function "age"

--- ceil and floor
SELECT sku, ceil(price) AS c, floor(price) AS f FROM products
-- duckdb: SELECT sku, CAST(ceil(price) AS DECIMAL(11, 0)), CAST(floor(price) AS DECIMAL(11, 0)) FROM products

--- round of a decimal
SELECT sku, round(price, 0) AS r FROM products
-- duckdb: SELECT sku, CAST(round(price, 0) AS DECIMAL(11, 0)) FROM products

--- substr
SELECT sku, substr(sku, 3) AS s, position('-' IN sku) AS p FROM products

--- ascii and chr
SELECT sku, ascii(name) AS a, chr(65) AS c FROM products

--- translate
SELECT sku, translate(sku, 's-', 'S_') AS t FROM products

--- lpad
SELECT sku, lpad(sku, 5, '0') AS l FROM products

--- a literal of each type
SELECT sku, DATE '2026-01-05' AS d, 1.5 AS n, TRUE AS b, 'it''s' AS t FROM products

--- a dollar quote
SELECT sku, $$a$$ AS t FROM products
-- says: materialized view "v" can't be parsed at "t"

--- a collation
SELECT sku FROM products WHERE name COLLATE "C" > 'm'
-- says: compares by the collation C

--- a double quote
SELECT "sku" FROM products
-- says: has an output column without a name

--- the columns of a table
SELECT p.* FROM products p

--- a column list of an alias
SELECT t.a FROM (SELECT sku FROM products) AS t (a)

--- FOR UPDATE
SELECT sku FROM products FOR UPDATE
-- says: uses a lock in SELECT, which has no meaning here

--- random
SELECT sku, random() AS r FROM products
-- says: calls "random", which is not a pure function

--- current_date
SELECT sku, current_date AS d FROM products
-- says: calls "current_date", which is not a pure function

--- array slices
SELECT id, items[1:2] AS s FROM orders
-- says: takes a part of a list with [ : ]

--- an array constructor
SELECT id, ARRAY[quantity, 2] AS a FROM orders

--- array concatenation
SELECT id, items || ARRAY['z'] AS a FROM orders

--- array of a subquery
SELECT sku, ARRAY(SELECT id FROM stock s WHERE s.sku = p.sku) AS ids FROM products p
-- says: has a column "ids" of type ARRAY<VOID>, which can't be kept
-- says: asks for the rows of a subquery inside an expression, which is not supported yet
