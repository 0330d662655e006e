--- IN
SELECT id FROM stock WHERE sku IN (SELECT sku FROM products WHERE price > 4)

--- NOT IN
SELECT sku FROM products WHERE sku NOT IN (SELECT sku FROM stock)

--- EXISTS
SELECT sku FROM products p WHERE EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku)

--- NOT EXISTS
SELECT sku FROM products p WHERE NOT EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku)

--- a value
SELECT sku, price - (SELECT avg(price) FROM products) AS d FROM products
-- duckdb: SELECT sku, price - (SELECT CAST(avg(price) AS DECIMAL(16, 6)) FROM products) FROM products

--- a value in WHERE
SELECT sku FROM products WHERE price > (SELECT min(price) FROM products)

--- a correlated value
SELECT sku, (SELECT sum(pieces) FROM stock s WHERE s.sku = p.sku) AS pieces FROM products p

--- a correlated count
SELECT sku, (SELECT count(*) FROM stock s WHERE s.sku = p.sku) AS n FROM products p

--- a correlated value in WHERE
SELECT sku FROM products p WHERE price >= (SELECT max(price) FROM products q WHERE q.maker = p.maker)

--- EXISTS or
SELECT sku FROM products p WHERE price > 8 OR EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku)

--- IN or
SELECT sku FROM products WHERE price > 8 OR sku IN (SELECT sku FROM stock)

--- EXISTS in SELECT
SELECT sku, EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku) AS there FROM products p

--- EXISTS with more than equality
SELECT sku FROM products p WHERE EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku AND s.pieces > p.price)

--- EXISTS with more than equality, or
SELECT sku FROM products p WHERE maker = 'acme' OR EXISTS (SELECT * FROM stock s WHERE s.sku = p.sku AND s.pieces > p.price)
-- says: compares the rows of a subquery that stands for a value by more than equality

--- IN with groups
SELECT sku FROM products WHERE sku IN (SELECT sku FROM stock GROUP BY sku HAVING sum(pieces) > 5)

--- IN with groups, correlated
SELECT sku FROM products p WHERE price IN (SELECT max(price) FROM products q WHERE q.maker = p.maker GROUP BY q.maker)
-- says: reads "p.maker", but no input is named "p"

--- ALL
SELECT sku FROM products WHERE price >= ALL (SELECT price FROM products)
-- says: compares with ALL (SELECT …), which is not supported yet

--- ANY
SELECT sku FROM products WHERE sku = ANY (SELECT sku FROM stock)

--- a subquery in FROM
SELECT m.maker, m.n FROM (SELECT maker, count(*) AS n FROM products GROUP BY maker) AS m WHERE m.n > 3

--- LATERAL with an aggregate
SELECT p.sku, t.pieces FROM products p, LATERAL (SELECT sum(s.pieces) AS pieces FROM stock s WHERE s.sku = p.sku) t

--- LATERAL with LIMIT
SELECT p.sku, t.id FROM products p, LATERAL (SELECT s.id FROM stock s WHERE s.sku = p.sku ORDER BY s.pieces DESC, s.id LIMIT 1) t

--- a CTE
WITH m AS (SELECT maker, max(price) AS most FROM products GROUP BY maker) SELECT p.sku FROM products p JOIN m ON p.maker = m.maker AND p.price = m.most

--- a recursive CTE
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n
-- says: uses WITH RECURSIVE, which is not supported yet
