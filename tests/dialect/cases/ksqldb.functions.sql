--- UCASE
SELECT id, UCASE(customer) AS u, LCASE(id) AS l FROM orders EMIT CHANGES
-- duckdb: SELECT id, upper(customer), lower(id) FROM orders

--- LEN
SELECT id, LEN(id) AS n FROM orders EMIT CHANGES

--- IFNULL
SELECT id, IFNULL(customer, 'none') AS c FROM orders EMIT CHANGES

--- SUBSTRING
SELECT id, SUBSTRING(id, 1, 3) AS s FROM orders EMIT CHANGES

--- EXTRACTJSONFIELD
SELECT id, EXTRACTJSONFIELD(body, '$.kind') AS k FROM orders EMIT CHANGES
-- says: calls an unknown function "EXTRACTJSONFIELD"

--- AS_VALUE
SELECT id, AS_VALUE(customer) AS c FROM orders EMIT CHANGES
-- says: calls an unknown function "AS_VALUE"

--- TIMESTAMPTOSTRING
SELECT id, TIMESTAMPTOSTRING(ROWTIME, 'yyyy-MM-dd') AS d FROM orders EMIT CHANGES
-- says: calls an unknown function "TIMESTAMPTOSTRING"
-- says: uses ROWTIME, as ksqlDB has it

--- FORMAT_TIMESTAMP
SELECT id, FORMAT_TIMESTAMP(made_at, 'yyyy-MM-dd') AS d FROM orders EMIT CHANGES
-- says: calls an unknown function "FORMAT_TIMESTAMP"

--- PARSE_TIMESTAMP
SELECT id, PARSE_TIMESTAMP('2026-01-05', 'yyyy-MM-dd') AS d FROM orders EMIT CHANGES
-- says: calls an unknown function "PARSE_TIMESTAMP"

--- EXPLODE
SELECT id, EXPLODE(items) AS item FROM orders EMIT CHANGES
-- duckdb: SELECT id, unnest(items) FROM orders

--- ARRAY_LENGTH
SELECT id, ARRAY_LENGTH(items) AS n FROM orders EMIT CHANGES
-- says: calls an unknown function "ARRAY_LENGTH"

--- ARRAY_CONTAINS
SELECT id FROM orders WHERE ARRAY_CONTAINS(items, 'i-1') EMIT CHANGES
-- duckdb: SELECT id FROM orders WHERE list_contains(items, 'i-1')

--- TRANSFORM
SELECT id, TRANSFORM(items, x => UCASE(x)) AS i FROM orders EMIT CHANGES
-- says: reads an unknown column "x"

--- FILTER of an array
SELECT id, FILTER(items, x -> x <> 'i-0') AS i FROM orders
-- duckdb: SELECT id, list_filter(items, lambda x: x <> 'i-0') FROM orders

--- REDUCE
SELECT id, REDUCE(items, '', (a, x) => a + x) AS i FROM orders EMIT CHANGES
-- says: reads an unknown column "a"
-- says: reads an unknown column "x"

--- STRUCT
SELECT id, STRUCT(a := customer, b := quantity) AS s FROM orders EMIT CHANGES
-- duckdb: SELECT id, {'a': customer, 'b': quantity} FROM orders

--- SPLIT
SELECT id, SPLIT(id, '-') AS s FROM orders EMIT CHANGES

--- MASK
SELECT id, MASK(customer) AS m FROM orders EMIT CHANGES
-- duckdb: SELECT id, regexp_replace(customer, '[a-z]', 'x', 'g') FROM orders

--- CASE
SELECT id, CASE WHEN quantity > 2 THEN 'many' ELSE 'few' END AS q FROM orders EMIT CHANGES

--- CAST to VARCHAR
SELECT id, CAST(quantity AS VARCHAR) AS q FROM orders EMIT CHANGES

--- a plus of texts
SELECT id, id + '-' + customer AS s FROM orders EMIT CHANGES
-- says: applies "+" to STRING and STRING

--- ROWPARTITION
SELECT id, ROWPARTITION AS p FROM orders EMIT CHANGES
-- says: reads an unknown column "ROWPARTITION"

--- GEO_DISTANCE
SELECT id, GEO_DISTANCE(1.0, 2.0, 3.0, 4.0) AS g FROM orders EMIT CHANGES
-- says: calls an unknown function "GEO_DISTANCE"
