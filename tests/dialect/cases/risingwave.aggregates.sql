--- string_agg
SELECT maker, string_agg(sku, ',' ORDER BY sku) AS s FROM products GROUP BY maker

--- array_agg
SELECT maker, array_agg(name ORDER BY sku) AS names FROM products GROUP BY maker

--- array_agg in a window
SELECT window_end, array_agg(id ORDER BY made_at, id) AS ids FROM tumble(orders, made_at, INTERVAL '1 hour') GROUP BY window_end

--- jsonb_agg
SELECT maker, jsonb_agg(name) AS j FROM products GROUP BY maker
-- says: calls an unknown function "jsonb_agg"

--- bool_and
SELECT maker, bool_and(price > 2) AS a FROM products GROUP BY maker

--- bit_and
SELECT shop, bit_and(pieces) AS a, bit_or(pieces) AS o, bit_xor(pieces) AS x FROM stock GROUP BY shop

--- first_value with an order
SELECT maker, first_value(sku ORDER BY price DESC, sku) AS dearest FROM products GROUP BY maker
-- duckdb: SELECT maker, first(sku ORDER BY price DESC, sku) FROM products GROUP BY maker

--- last_value with an order
SELECT maker, last_value(sku ORDER BY price, sku) AS dearest FROM products GROUP BY maker
-- duckdb: SELECT maker, last(sku ORDER BY price, sku) FROM products GROUP BY maker

--- arg_max
SELECT maker, arg_max(sku, price) AS a FROM products GROUP BY maker
-- says: calls an unknown function "ARG_MAX"

--- percentile_disc
SELECT maker, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) AS p FROM products GROUP BY maker

--- mode
SELECT shop, mode() WITHIN GROUP (ORDER BY pieces) AS m FROM stock WHERE id < 9 GROUP BY shop

--- count with FILTER
SELECT shop, count(*) FILTER (WHERE pieces > 3) AS n FROM stock GROUP BY shop

--- a sum of nothing
SELECT shop, sum(pieces) FILTER (WHERE pieces > 100) AS n FROM stock GROUP BY shop

--- stddev
SELECT shop, stddev_samp(pieces) AS s, var_pop(pieces) AS v FROM stock GROUP BY shop
-- says: aggregates with "stddev_samp", whose value may differ between executions
-- says: aggregates with "var_pop", whose value may differ between executions

--- an aggregate without groups
SELECT count(*) AS n, sum(pieces) AS s, max(id) AS m FROM stock

--- an aggregate of a stream without groups
WITH (retention = 'forever') AS SELECT count(*) AS n, sum(amount) AS s FROM orders

--- GROUPING SETS
SELECT shop, sku, sum(pieces) AS s FROM stock GROUP BY GROUPING SETS ((shop), (sku))

--- a hidden group
SELECT max(price) AS most FROM products GROUP BY maker

--- HAVING
SELECT maker FROM products GROUP BY maker HAVING count(*) > 3

--- EMIT ON WINDOW CLOSE without windows
SELECT customer, count(*) AS n FROM orders GROUP BY customer EMIT ON WINDOW CLOSE
-- says: groups rows for ever

--- corr
SELECT shop, corr(id, pieces) AS c FROM stock GROUP BY shop
-- says: aggregates with "corr", whose value may differ between executions
