--- tables
SELECT p.name, s.id, s.pieces FROM products p JOIN stock s ON s.sku = p.sku

--- tables with hidden keys
SELECT p.name, s.pieces FROM products p JOIN stock s ON s.sku = p.sku

--- LEFT of tables with hidden keys
SELECT p.name, s.pieces FROM products p LEFT JOIN stock s ON s.sku = p.sku

--- RIGHT of tables
SELECT s.id, p.name FROM products p RIGHT JOIN stock s ON s.sku = p.sku

--- FULL of tables
SELECT p.sku, s.id FROM products p FULL OUTER JOIN stock s ON s.sku = p.sku

--- on an inequality
SELECT p.sku, s.id FROM products p JOIN stock s ON s.pieces > p.price

--- NATURAL
SELECT sku, id FROM products NATURAL JOIN stock
-- says: uses NATURAL JOIN, whose columns change with the declarations

--- a window join
SELECT o.id, p.id AS payment FROM tumble(orders, made_at, INTERVAL '1 hour') o JOIN tumble(payments, made_at, INTERVAL '1 hour') p ON o.customer = p.customer AND o.window_start = p.window_start

--- an interval join
SELECT o.id, p.id AS payment FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '3 hours'

--- a join of aggregates
SELECT p.maker, p.n, s.pieces FROM (SELECT maker, count(*) AS n FROM products GROUP BY maker) p JOIN (SELECT maker, sum(pieces) AS pieces FROM stock JOIN products USING (sku) GROUP BY maker) s ON p.maker = s.maker

--- process-time temporal
SELECT o.id, p.name FROM orders o JOIN products FOR SYSTEM_TIME AS OF PROCTIME() AS p ON o.customer = p.sku
-- says: uses PROCTIME() in a join with a table
-- unanswered: what was known on arrival

--- ASOF, LEFT
SELECT o.id, c.country FROM orders o ASOF LEFT JOIN customers c ON o.customer = c.customer AND o.made_at >= c.changed_at
-- duckdb: SELECT o.id, c.country FROM orders o ASOF LEFT JOIN changes c ON o.customer = c.customer AND o.made_at >= c.changed_at

--- SEMI JOIN
SELECT sku FROM products LEFT SEMI JOIN stock USING (sku)
-- duckdb: SELECT sku FROM products SEMI JOIN stock USING (sku)

--- ANTI JOIN
SELECT sku FROM products LEFT ANTI JOIN stock USING (sku)
-- duckdb: SELECT sku FROM products ANTI JOIN stock USING (sku)
