--- UNION ALL
SELECT id, customer FROM orders UNION ALL SELECT id, customer FROM payments

--- UNION in windows
SELECT customer, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) UNION SELECT customer, window_end FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- UNION of tables
SELECT sku FROM products UNION SELECT sku FROM stock

--- INTERSECT in windows
SELECT customer, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) INTERSECT SELECT customer, window_end FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR)

--- EXCEPT of tables
SELECT sku FROM products EXCEPT SELECT sku FROM stock

--- IN a list
SELECT id FROM orders WHERE customer IN ('ada', 'bob')

--- IN a table
SELECT sku FROM products WHERE sku IN (SELECT sku FROM stock WHERE pieces > 3)

--- EXISTS of tables
SELECT sku FROM products p WHERE EXISTS (SELECT 1 FROM stock s WHERE s.sku = p.sku AND s.pieces > 3)

--- NOT EXISTS of tables
SELECT sku FROM products p WHERE NOT EXISTS (SELECT 1 FROM stock s WHERE s.sku = p.sku)

--- UNION ALL in a window
SELECT window_end, count(*) AS n FROM TUMBLE((SELECT made_at FROM orders UNION ALL SELECT made_at FROM payments), DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY window_start, window_end
-- duckdb: SELECT window_end, count(*) FROM (SELECT window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) UNION ALL SELECT window_end FROM TUMBLE(payments, made_at, INTERVAL '1' HOUR)) GROUP BY ALL

--- VALUES in FROM
SELECT o.id, v.name FROM orders o JOIN (VALUES ('ada', 'Ada'), ('bob', 'Bob')) AS v (customer, name) ON o.customer = v.customer

--- WITH
WITH dear AS (SELECT * FROM orders WHERE amount > 5) SELECT id, amount FROM dear

--- WITH twice
WITH dear AS (SELECT * FROM orders WHERE amount > 5), few AS (SELECT * FROM dear WHERE quantity < 3) SELECT id FROM few
