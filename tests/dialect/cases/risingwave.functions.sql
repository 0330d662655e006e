--- strings
SELECT id, length(customer) AS n, left(id, 1) AS l, right(id, 2) AS r, reverse(id) AS v, repeat('a', quantity) AS a FROM orders

--- split_part
SELECT id, split_part(id, '-', 2) AS s FROM orders

--- starts_with
SELECT id FROM orders WHERE starts_with(id, 'o-1')
-- says: calls an unknown function "STARTS_WITH"

--- concat_ws
SELECT id, concat_ws('/', customer, id) AS s FROM orders

--- format of a time
SELECT id, to_char(made_at, 'YYYY-MM-DD') AS d FROM orders
-- says: calls the function "to_char", which can't take what it is given

--- date_trunc
SELECT id, date_trunc('hour', made_at) AS h FROM orders

--- date_part
SELECT id, date_part('hour', made_at) AS h FROM orders

--- extract epoch
SELECT id, extract(epoch FROM made_at) AS e FROM orders
-- says: calls the function "extract", which can't take what it is given

--- a cast with colons
SELECT id, quantity::STRING AS s, '1.5'::DECIMAL(3, 1) AS d FROM orders

--- an interval of words
SELECT id, made_at + INTERVAL '1 hour 30 minutes' AS t FROM orders

--- array functions
SELECT id, array_length(items) AS n, array_to_string(items, ',') AS s FROM orders
-- says: calls an unknown function "ARRAY_LENGTH"
-- says: calls an unknown function "ARRAY_TO_STRING"

--- array_contains
SELECT id FROM orders WHERE array_contains(items, 'i-1')
-- duckdb: SELECT id FROM orders WHERE list_contains(items, 'i-1')

--- array_append
SELECT id, array_append(items, 'z') AS a FROM orders
-- duckdb: SELECT id, list_append(items, 'z') FROM orders

--- ANY of an array
SELECT id FROM orders WHERE 'i-1' = ANY (items)

--- unnest in SELECT
SELECT id, unnest(items) AS item FROM orders
-- says: calls an unknown function "UNNEST"

--- jsonb_extract_path
SELECT id, jsonb_extract_path_text(body, 'a', 'b') AS b FROM orders
-- says: calls an unknown function "jsonb_extract_path_text"

--- a jsonb operator
SELECT id, body -> 'a' -> 'b' AS b FROM orders

--- the modulo sign
SELECT id, quantity % 2 AS m FROM orders

--- the power sign
SELECT id, quantity ^ 2 AS p FROM orders
-- duckdb: SELECT id, xor(quantity, 2) FROM orders

--- integer division
SELECT id, 7 / 2 AS d FROM orders

--- bit operators
SELECT id, quantity & 1 AS a, quantity | 4 AS o, ~quantity AS n FROM orders

--- a shift
SELECT id, quantity << 1 AS s FROM orders

--- regexp_replace
SELECT id, regexp_replace(id, '[0-9]', 'x', 'g') AS r FROM orders
-- says: calls the function "regexp_replace", which can't take what it is given

--- a match of a pattern
SELECT id FROM orders WHERE id ~ 'o-1.'
-- says: materialized view "v" uses ~

--- ILIKE
SELECT id FROM orders WHERE customer ILIKE 'A%'

--- coalesce of three
SELECT id, coalesce(weight, quantity, 0) AS w FROM orders

--- proctime
SELECT id, proctime() AS p FROM orders
-- says: calls an unknown function "proctime"

--- now as a filter
SELECT id FROM orders WHERE made_at < now()
-- says: calls "now", which is not a pure function

--- trunc
SELECT id, trunc(weight) AS t FROM orders
-- says: gives the function "trunc" 1 argument, and it takes 2

--- sign
SELECT id, sign(quantity - 2) AS s FROM orders

--- md5
SELECT id, md5(id) AS m FROM orders

--- encode
SELECT id, encode(CAST(id AS BINARY), 'hex') AS e FROM orders
-- says: calls the function "encode", which can't take what it is given
