--- LATERAL VIEW
SELECT id, item FROM orders LATERAL VIEW explode(items) t AS item
-- duckdb: SELECT id, unnest(items) AS item FROM orders

--- LATERAL VIEW OUTER
SELECT id, item FROM orders LATERAL VIEW OUTER explode(items) t AS item
-- duckdb: SELECT id, unnest(CASE WHEN len(items) = 0 THEN [NULL] ELSE items END) AS item FROM orders

--- posexplode
SELECT id, place, item FROM orders LATERAL VIEW posexplode(items) t AS place, item
-- duckdb: SELECT id, generate_subscripts(items, 1) - 1, unnest(items) FROM orders

--- explode in SELECT
SELECT id, explode(items) AS item FROM orders
-- duckdb: SELECT id, unnest(items) FROM orders

--- PIVOT
SELECT * FROM (SELECT shop, sku, pieces FROM stock) PIVOT (sum(pieces) FOR shop IN ('north' AS north, 'south' AS south))
-- duckdb: SELECT sku, sum(pieces) FILTER (WHERE shop = 'north'), sum(pieces) FILTER (WHERE shop = 'south') FROM stock GROUP BY sku

--- UNPIVOT
SELECT * FROM (SELECT id, pieces, id * 2 AS twice FROM stock) UNPIVOT (value FOR kind IN (pieces, twice))
-- says: can't keep its rows up to date
-- mend: SELECT * FROM (SELECT ==> WITH (key = 'id, kind') AS SELECT * FROM (SELECT
-- duckdb: SELECT id, unnest(['pieces', 'twice']), unnest([pieces, id * 2]) FROM stock

--- transform
SELECT id, transform(items, x -> upper(x)) AS i FROM orders
-- duckdb: SELECT id, list_transform(items, lambda x: upper(x)) FROM orders

--- aggregate of an array
SELECT id, aggregate(items, 0, (a, x) -> a + length(x)) AS n FROM orders
-- duckdb: SELECT id, coalesce(list_sum(list_transform(items, lambda x: len(x))), 0) FROM orders

--- array_sort
SELECT id, array_sort(items) AS i, reverse(items) AS r FROM orders
-- duckdb: SELECT id, list_sort(items), list_reverse(items) FROM orders

--- size
SELECT id, size(items) AS n FROM orders
-- duckdb: SELECT id, len(items) FROM orders

--- element_at
SELECT id, element_at(items, -1) AS l FROM orders WHERE size(items) > 0
-- duckdb: SELECT id, items[-1] FROM orders WHERE len(items) > 0

--- map_from_arrays
SELECT id, map_from_arrays(array('a'), array(quantity))['a'] AS q FROM orders
-- duckdb: SELECT id, quantity FROM orders

--- named_struct
SELECT id, named_struct('a', customer, 'b', quantity) AS s FROM orders
-- duckdb: SELECT id, {'a': customer, 'b': quantity} FROM orders

--- get_json_object
SELECT id, get_json_object(body, '$.a.b') AS b FROM orders
-- duckdb: SELECT id, body ->> '$.a.b' FROM orders

--- from_json
SELECT id, from_json(body, 'n INT').n AS n FROM orders
-- duckdb: SELECT id, CAST(body ->> '$.n' AS INT) FROM orders

--- date_format
SELECT id, date_format(made_at, 'HH:mm') AS t FROM orders
-- duckdb: SELECT id, strftime(made_at, '%H:%M') FROM orders

--- date_add
SELECT id, date_add(CAST(made_at AS DATE), 3) AS d FROM orders
-- duckdb: SELECT id, CAST(made_at AS DATE) + 3 FROM orders

--- months_between
SELECT id, months_between(made_at, TIMESTAMP '2025-01-05 09:00:00') AS m FROM orders WHERE id = 'o-00'
-- duckdb: SELECT id, 12.0 FROM orders WHERE id = 'o-00'

--- last_day
SELECT id, last_day(made_at) AS d FROM orders

--- nvl2
SELECT id, nvl2(customer, 'x', 'y') AS n FROM orders
-- duckdb: SELECT id, CASE WHEN customer IS NOT NULL THEN 'x' ELSE 'y' END FROM orders

--- if
SELECT id, if(quantity > 2, 'a', 'b') AS i FROM orders

--- the null-safe equality
SELECT id, customer <=> NULL AS n FROM orders
-- duckdb: SELECT id, customer IS NULL FROM orders

--- RLIKE
SELECT id FROM orders WHERE id RLIKE 'o-1[0-3]'
-- duckdb: SELECT id FROM orders WHERE regexp_matches(id, 'o-1[0-3]')

--- max_by
SELECT maker, max_by(sku, price) AS s FROM products GROUP BY maker
-- duckdb: SELECT maker, arg_max(sku, price) FROM products GROUP BY maker

--- collect_set
SELECT shop, collect_set(sku) AS s FROM stock GROUP BY shop
-- duckdb: SELECT shop, list_sort(list(DISTINCT sku)) FROM stock GROUP BY shop

--- count_if
SELECT shop, count_if(pieces > 2) AS n FROM stock GROUP BY shop

--- median
SELECT shop, median(pieces) AS m FROM stock GROUP BY shop

--- skewness
SELECT shop, kurtosis(pieces) AS k FROM stock GROUP BY shop
-- says: aggregates with "kurtosis", whose value may differ between executions
-- unanswered: another formula

--- monotonically_increasing_id
SELECT id, monotonically_increasing_id() AS n FROM orders
-- says: calls "monotonically_increasing_id", which is not a pure function

--- uuid
SELECT id, uuid() AS u FROM orders
-- says: calls "uuid", which is not a pure function

--- input_file_name
SELECT id, input_file_name() AS f FROM orders
-- says: calls "input_file_name", which is not a pure function

--- DISTRIBUTE BY
SELECT id FROM orders DISTRIBUTE BY customer
-- says: uses DISTRIBUTE BY in SELECT, which has no meaning here

--- TABLESAMPLE
SELECT id FROM orders TABLESAMPLE (10 PERCENT)
-- says: reads a random sample of its input

--- LEFT SEMI JOIN
SELECT sku FROM products p LEFT SEMI JOIN stock s ON p.sku = s.sku
-- duckdb: SELECT sku FROM products p SEMI JOIN stock s ON p.sku = s.sku

--- LEFT ANTI JOIN
SELECT sku FROM products p LEFT ANTI JOIN stock s ON p.sku = s.sku
-- duckdb: SELECT sku FROM products p ANTI JOIN stock s ON p.sku = s.sku

--- * EXCEPT
SELECT * EXCEPT (body, items, address) FROM orders
-- duckdb: SELECT * EXCLUDE (body, items, address) FROM orders

--- GROUP BY ALL
SELECT shop, count(*) AS n FROM stock GROUP BY ALL

--- ORDER BY ALL
SELECT shop, id FROM stock ORDER BY ALL LIMIT 3
-- says: orders by ALL, which is no column

--- a pipe
FROM stock |> WHERE pieces > 3 |> SELECT id, pieces
-- says: "FROM" doesn't start a declaration
