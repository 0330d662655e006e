--- array_agg in an order
SELECT customer, array_agg(id ORDER BY amount DESC, id) AS ids FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end

--- percentile_cont
SELECT customer, window_end, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS middle FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_end

--- percentile_disc
SELECT customer, window_end, percentile_disc(0.5) WITHIN GROUP (ORDER BY amount) AS middle FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_end

--- mode
SELECT customer, window_end, mode() WITHIN GROUP (ORDER BY quantity) AS usual FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_end

--- percentile_cont over all of time
WITH (retention = 'forever') AS SELECT customer, percentile_cont(0.25) WITHIN GROUP (ORDER BY weight) AS q FROM orders GROUP BY customer

--- percentile_cont of a table
SELECT maker, percentile_cont(0.25) WITHIN GROUP (ORDER BY price) AS q, percentile_disc(0.9) WITHIN GROUP (ORDER BY price DESC) AS d FROM products GROUP BY maker

--- several shares
SELECT maker, percentile_cont(array(0.25, 0.75)) WITHIN GROUP (ORDER BY price) AS q FROM products GROUP BY maker
-- duckdb: SELECT maker, quantile_cont(price, [0.25, 0.75]) FROM products GROUP BY maker

--- a hidden key
SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(made_at), INTERVAL '1' HOUR) GROUP BY customer, window_start, window_end

--- a hidden key of a table
SELECT count(*) AS n, sum(price) AS total FROM products GROUP BY maker

--- a hidden key over all of time
WITH (retention = 'forever') AS SELECT sum(amount) AS total FROM orders GROUP BY customer

--- string_agg
SELECT maker, string_agg(name, ', ' ORDER BY name) AS names FROM products GROUP BY maker

--- array_agg with FILTER
SELECT maker, array_agg(sku ORDER BY sku) FILTER (WHERE price > 5) AS skus FROM products GROUP BY maker
-- duckdb: SELECT maker, coalesce(array_agg(sku ORDER BY sku) FILTER (WHERE price > 5), []) AS skus FROM products GROUP BY maker

--- bool_and, bool_or
SELECT maker, bool_and(price > 5) AS a, bool_or(price > 5) AS o, every(price > 1) AS e FROM products GROUP BY maker
-- duckdb: SELECT maker, bool_and(price > 5), bool_or(price > 5), bool_and(price > 1) FROM products GROUP BY maker

--- rank of a hypothetical row
SELECT maker, rank(5) WITHIN GROUP (ORDER BY price) AS r FROM products GROUP BY maker
-- says: ranks rows with "rank" without OVER

--- json_agg
SELECT maker, json_agg(name) AS names FROM products GROUP BY maker
-- says: calls an unknown function "json_agg"
-- mend: json_agg(name) ==> to_json(array_sort(collect_list(name)))
-- duckdb: SELECT maker, CAST(to_json(list_sort(list(name))) AS VARCHAR) FROM products GROUP BY maker
