--- strings
SELECT id, UPPER(customer) AS u, LOWER(id) AS l, CHAR_LENGTH(customer) AS n, TRIM(id) AS t, REPLACE(id, 'o-', 'x') AS r FROM orders

--- SUBSTRING
SELECT id, SUBSTRING(id FROM 3 FOR 1) AS a, SUBSTRING(id, 2) AS b FROM orders

--- CONCAT and the bars
SELECT id, CONCAT(id, '-', address.city) AS a, id || '/' || address.zip AS b FROM orders

--- POSITION and LOCATE
SELECT id, POSITION('-' IN id) AS p FROM orders

--- LPAD
SELECT id, LPAD(id, 6, '.') AS l, RPAD(id, 6, '.') AS r FROM orders

--- LIKE
SELECT id FROM orders WHERE id LIKE 'o-1%' AND customer NOT LIKE '%b'

--- SIMILAR TO
SELECT id FROM orders WHERE id SIMILAR TO 'o-[12].'
-- says: uses SIMILAR TO, which Spark SQL doesn't have

--- REGEXP_EXTRACT
SELECT id, REGEXP_EXTRACT(id, 'o-(.)', 1) AS first FROM orders

--- CASE
SELECT id, CASE WHEN quantity > 3 THEN 'many' WHEN quantity > 0 THEN 'some' ELSE 'none' END AS q FROM orders

--- CASE of a value
SELECT id, CASE quantity WHEN 0 THEN 'none' ELSE 'some' END AS q FROM orders

--- COALESCE and NULLIF
SELECT id, COALESCE(customer, 'nobody') AS c, NULLIF(quantity, 0) AS q FROM orders

--- IFNULL
SELECT id, IFNULL(customer, '?') AS c FROM orders

--- numbers
SELECT id, ABS(quantity - 3) AS a, MOD(quantity, 2) AS m, POWER(quantity, 2) AS p, SQRT(quantity) AS s FROM orders

--- rounding
SELECT id, ROUND(weight, 1) AS r, FLOOR(weight) AS f, CEIL(weight) AS c FROM orders
-- duckdb: SELECT id, ROUND(weight, 1), CAST(FLOOR(weight) AS BIGINT), CAST(CEIL(weight) AS BIGINT) FROM orders

--- EXTRACT
SELECT id, EXTRACT(HOUR FROM made_at) AS h, EXTRACT(DAY FROM made_at) AS d, EXTRACT(YEAR FROM made_at) AS y FROM orders

--- TIMESTAMPDIFF
SELECT id, TIMESTAMPDIFF(MINUTE, TIMESTAMP '2026-01-05 00:00:00', made_at) AS m FROM orders
-- duckdb: SELECT id, date_sub('minute', TIMESTAMP '2026-01-05 00:00:00', made_at) FROM orders

--- TIMESTAMPADD
SELECT id, TIMESTAMPADD(DAY, 1, made_at) AS t FROM orders
-- duckdb: SELECT id, made_at + INTERVAL 1 DAY FROM orders

--- DATE_FORMAT
SELECT id, DATE_FORMAT(made_at, 'yyyy-MM-dd HH') AS d FROM orders
-- duckdb: SELECT id, strftime(made_at, '%Y-%m-%d %H') FROM orders

--- an interval
SELECT id, made_at + INTERVAL '90' MINUTE AS t, made_at - INTERVAL '1' DAY AS y FROM orders

--- CAST
SELECT id, CAST(quantity AS STRING) AS s, CAST(amount AS DOUBLE) AS d, CAST('12' AS INT) AS i FROM orders

--- TRY_CAST
SELECT id, TRY_CAST(id AS INT) AS i FROM orders

--- FLOOR to an hour
SELECT id, FLOOR(made_at TO HOUR) AS h FROM orders
-- says: materialized view "v" can't be parsed at "TO"

--- a field of a row
SELECT id, address.city AS city, o.address.zip AS zip FROM orders AS o
-- duckdb: SELECT id, address.city, address.zip FROM orders

--- ROW
SELECT id, ROW(customer, quantity) AS r FROM orders
-- says: calls an unknown function "ROW"

--- ARRAY
SELECT id, ARRAY['a', customer] AS a FROM orders

--- CARDINALITY
SELECT id, CARDINALITY(items) AS n FROM orders
-- duckdb: SELECT id, len(items) FROM orders

--- MAP
SELECT id, MAP['a', customer]['a'] AS m FROM orders
-- duckdb: SELECT id, customer FROM orders

--- JSON_VALUE
SELECT id, JSON_VALUE(body, '$.kind') AS k FROM orders
-- says: calls an unknown function "JSON_VALUE"

--- JSON_EXISTS
SELECT id FROM orders WHERE JSON_EXISTS(body, '$.kind')
-- says: calls an unknown function "JSON_EXISTS"

--- IS DISTINCT FROM
SELECT id FROM orders WHERE customer IS DISTINCT FROM 'ada'

--- IS TRUE
SELECT id, (quantity > 2) IS TRUE AS t, (weight > 2) IS NOT TRUE AS f FROM orders

--- BETWEEN
SELECT id FROM orders WHERE quantity BETWEEN 1 AND 3

--- MD5
SELECT id, MD5(id) AS m, SHA256(id) AS s FROM orders
-- says: calls an unknown function "SHA256"

--- GREATEST
SELECT id, GREATEST(quantity, 2) AS g, LEAST(quantity, 2) AS l FROM orders

--- NOW
SELECT id, NOW() AS n FROM orders
-- says: calls "now", which is not a pure function

--- RAND
SELECT id, RAND() AS r FROM orders
-- says: calls "rand", which is not a pure function

--- UNIX_TIMESTAMP
SELECT id, UNIX_TIMESTAMP(made_at) AS u FROM orders
-- duckdb: SELECT id, CAST(epoch(made_at) AS BIGINT) FROM orders

--- TO_DATE
SELECT id, TO_DATE('2026-01-05') AS d, CAST(made_at AS DATE) AS e FROM orders
-- duckdb: SELECT id, DATE '2026-01-05', CAST(made_at AS DATE) FROM orders

--- SPLIT_INDEX
SELECT id, SPLIT_INDEX(id, '-', 1) AS s FROM orders
-- says: calls an unknown function "SPLIT_INDEX"

--- INITCAP
SELECT id, INITCAP(customer) AS i FROM orders
-- duckdb: SELECT id, upper(customer[1]) || customer[2:] FROM orders

--- OVERLAY
SELECT id, OVERLAY(id PLACING 'xx' FROM 1 FOR 2) AS o FROM orders
-- duckdb: SELECT id, 'xx' || id[3:] FROM orders
