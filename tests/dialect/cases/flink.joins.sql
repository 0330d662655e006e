--- within a bound
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '2' HOUR

--- within a bound, both ways
SELECT o.id, p.id AS payment FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at - INTERVAL '1' HOUR AND o.made_at + INTERVAL '1' HOUR

--- LEFT within a bound
SELECT o.id, p.paid FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '4' HOUR

--- RIGHT within a bound
SELECT o.id, p.id AS payment FROM orders o RIGHT JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '4' HOUR

--- FULL within a bound
SELECT o.id, p.id AS payment FROM orders o FULL OUTER JOIN payments p ON o.id = p.order_id AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '4' HOUR

--- the bound in WHERE
SELECT o.id, p.paid FROM orders o, payments p WHERE o.id = p.order_id AND o.made_at BETWEEN p.made_at - INTERVAL '2' HOUR AND p.made_at

--- comparisons as a bound
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id AND p.made_at >= o.made_at AND p.made_at < o.made_at + INTERVAL '3' HOUR

--- a bound and another condition
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.customer = p.customer AND p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '30' MINUTE AND p.paid > o.amount

--- on something else than equality
SELECT o.id, p.id AS payment FROM orders o JOIN payments p ON p.made_at BETWEEN o.made_at AND o.made_at + INTERVAL '5' MINUTE AND p.paid > o.amount

--- without a bound
SELECT o.id, p.paid FROM orders o JOIN payments p ON o.id = p.order_id
-- says: joins stream "orders" and stream "payments" without a bound in time

--- without a bound, for ever
WITH (retention = 'forever', key = 'id, payment') AS SELECT o.id, p.id AS payment FROM orders o JOIN payments p ON o.id = p.order_id

--- of windows
SELECT o.id, p.id AS payment, o.window_end FROM (SELECT * FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) o JOIN (SELECT * FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) p ON o.customer = p.customer AND o.window_start = p.window_start AND o.window_end = p.window_end

--- of windows, LEFT
SELECT o.id, p.id AS payment, o.window_end FROM (SELECT * FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) o LEFT JOIN (SELECT * FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) p ON o.id = p.order_id AND o.window_start = p.window_start AND o.window_end = p.window_end

--- of windows, FULL
SELECT o.id, p.id AS payment, coalesce(o.window_end, p.window_end) AS e FROM (SELECT * FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) o FULL JOIN (SELECT * FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR)) p ON o.id = p.order_id AND o.window_start = p.window_start AND o.window_end = p.window_end

--- of windows, with EXISTS
SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) o WHERE EXISTS (SELECT 1 FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR) p WHERE p.customer = o.customer AND p.window_start = o.window_start AND p.window_end = o.window_end)
-- duckdb: SELECT id, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) o WHERE EXISTS (SELECT 1 FROM TUMBLE(payments, made_at, INTERVAL '1' HOUR) p WHERE p.customer = o.customer AND p.window_end = o.window_end)

--- of windows, with NOT IN
SELECT id, window_end FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) o WHERE id NOT IN (SELECT order_id FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR) p WHERE p.window_start = o.window_start AND p.window_end = o.window_end)
-- duckdb: SELECT id, window_end FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) o WHERE id NOT IN (SELECT order_id FROM TUMBLE(payments, made_at, INTERVAL '1' HOUR) p WHERE p.window_end = o.window_end)

--- of aggregated windows
SELECT o.customer, o.window_end, o.n, p.paid FROM (SELECT customer, window_start, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end) o JOIN (SELECT customer, window_start, window_end, sum(paid) AS paid FROM TUMBLE(TABLE payments, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end) p ON o.customer = p.customer AND o.window_start = p.window_start AND o.window_end = p.window_end

--- temporal
SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.made_at AS c ON o.customer = c.customer
-- duckdb: SELECT o.id, c.country FROM orders o ASOF JOIN changes c ON o.customer = c.customer AND o.made_at >= c.changed_at

--- temporal, LEFT
SELECT o.id, c.country FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.made_at AS c ON o.customer = c.customer
-- duckdb: SELECT o.id, c.country FROM orders o ASOF LEFT JOIN changes c ON o.customer = c.customer AND o.made_at >= c.changed_at

--- temporal, aggregated
SELECT c.country, window_end, sum(o.amount) AS s FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) o JOIN customers FOR SYSTEM_TIME AS OF o.made_at AS c ON o.customer = c.customer GROUP BY c.country, window_start, window_end
-- duckdb: SELECT c.country, window_end, sum(o.amount) FROM TUMBLE(orders, made_at, INTERVAL '1' HOUR) o ASOF JOIN changes c ON o.customer = c.customer AND o.made_at >= c.changed_at GROUP BY ALL

--- lookup
SELECT o.id, p.name FROM orders AS o JOIN products FOR SYSTEM_TIME AS OF o._arrived_at AS p ON o.customer = p.sku
-- unanswered: what was known on arrival

--- tables
SELECT p.sku, s.id, p.name, s.pieces FROM products p JOIN stock s ON p.sku = s.sku

--- tables, LEFT
SELECT p.sku, s.id, s.pieces FROM products p LEFT JOIN stock s ON p.sku = s.sku

--- tables, FULL
SELECT p.sku, s.id FROM products p FULL JOIN stock s ON p.sku = s.sku

--- tables with USING
SELECT sku, id, pieces FROM products JOIN stock USING (sku)

--- a table with itself
SELECT a.sku, b.sku AS other FROM products a JOIN products b ON a.maker = b.maker AND a.sku < b.sku

--- CROSS JOIN of tables
SELECT a.sku, b.id FROM products a CROSS JOIN stock b

--- three tables
SELECT p.sku, s.id, q.sku AS twin FROM products p JOIN stock s ON p.sku = s.sku JOIN products q ON q.maker = p.maker AND q.sku <> p.sku

--- CROSS JOIN UNNEST
SELECT id, item FROM orders CROSS JOIN UNNEST(items) AS t (item)
-- duckdb: SELECT id, unnest(items) AS item FROM orders

--- UNNEST WITH ORDINALITY
SELECT id, item, place FROM orders CROSS JOIN UNNEST(items) WITH ORDINALITY AS t (item, place)
-- duckdb: SELECT id, unnest(items) AS item, generate_subscripts(items, 1) AS place FROM orders

--- LATERAL TABLE
SELECT id, word FROM orders, LATERAL TABLE(split(customer)) AS t (word)
-- says: makes rows with LATERAL TABLE(…), as Flink has it

--- a stream with a table as it is
SELECT o.id, c.country FROM orders o JOIN customers c ON o.customer = c.customer
-- says: joins table "customers" as it happens to be when a row is processed
