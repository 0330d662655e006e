--- arrow
SELECT id, body -> 'a' AS a FROM orders

--- double arrow
SELECT id, body ->> 'a' AS a FROM orders

--- path
SELECT id, body -> 'a' ->> 'b' AS b, body -> 0 AS first, body ->> 1 AS second FROM orders

--- hash arrow
SELECT id, body #>> '{a,b}' AS b FROM orders
-- duckdb: SELECT id, body ->> '$.a.b' FROM orders

--- in WHERE
SELECT id FROM orders WHERE body ->> 'kind' = 'gift'

--- cast
SELECT id, (body ->> 'n')::INT AS n FROM orders

--- contains
SELECT id FROM orders WHERE body ? 'a'
-- says: an operator on JSON has no meaning in Spark SQL, which has no type for JSON
