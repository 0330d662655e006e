SELECT id, n FROM orders UNION ALL BY NAME SELECT n, id FROM payments
SELECT id, n, at FROM orders UNION CORRESPONDING SELECT n, at, order_id FROM payments
SELECT id, n, at FROM orders UNION CORRESPONDING BY (n, at) SELECT at, n, order_id FROM payments
SELECT id, customer FROM orders FULL OUTER UNION ALL BY NAME SELECT id, order_id FROM payments
SELECT id, customer FROM orders LEFT OUTER UNION ALL BY NAME SELECT id, order_id FROM payments
SELECT id, at FROM orders EXCEPT BY NAME SELECT at, id FROM payments
SELECT id, at FROM orders INTERSECT BY NAME SELECT at, id FROM payments
WITH o AS (SELECT id, at FROM orders) SELECT id, at FROM o UNION SELECT id, at FROM payments ORDER BY at LIMIT 3
WITH o AS (SELECT id, at FROM orders) SELECT id, at FROM o EXCEPT SELECT id, at FROM payments ORDER BY at LIMIT 3
WITH o AS (SELECT id, at FROM orders) SELECT id, at FROM o INTERSECT SELECT id, at FROM payments ORDER BY at LIMIT 3
SELECT id, at FROM orders UNION SELECT id, at FROM payments ORDER BY at LIMIT 3 OFFSET 1
SELECT id, at FROM orders EXCEPT SELECT id, at FROM payments ORDER BY at LIMIT 3 OFFSET 1
SELECT id, at FROM orders INTERSECT SELECT id, at FROM payments ORDER BY at LIMIT 3 OFFSET 1
SELECT id, at FROM orders LEFT EXCEPT SELECT id, at FROM payments
SELECT id, at FROM orders LEFT INTERSECT SELECT id, at FROM payments
SELECT id, at FROM orders INNER EXCEPT BY NAME ON (id) SELECT id, at FROM payments
SELECT id, at FROM orders INNER INTERSECT BY NAME ON (id) SELECT id, at FROM payments
SELECT id FROM orders EXCEPT ALL SELECT id FROM payments
SELECT id FROM orders INTERSECT ALL SELECT id FROM payments
(WITH o AS (SELECT id, at FROM orders) SELECT id, at FROM o) ORDER BY at LIMIT 3
(SELECT id, at FROM orders) ORDER BY at LIMIT 3 OFFSET 1
SELECT id FROM (WITH o AS (SELECT id, at FROM orders) (SELECT id, at FROM o)) AS x
SELECT x.id FROM ((SELECT id, at FROM orders) AS x JOIN payments AS p ON p.at = x.at)
WITH o AS (SELECT id, at FROM orders) (SELECT id, at FROM o)
SELECT p.* FROM (SELECT n, customer, window_end FROM {HOURS}) PIVOT (sum(n) FOR customer IN ('a' AS x, 'b')) AS p
SELECT value, name, at, id FROM orders UNPIVOT (value FOR name IN (n, weight)) AS p
SELECT id, mask(id, lowerChar => 'x') AS a FROM orders
SELECT id, n, at FROM orders INNER EXCEPT BY NAME SELECT id, at FROM payments
SELECT id, n, at FROM orders INNER INTERSECT BY NAME SELECT id, at FROM payments
SELECT id FROM (SELECT id FROM orders) TABLESAMPLE (10 PERCENT)
SELECT id FROM orders TABLESAMPLE (10 PERCENT)
SELECT id FROM orders TABLESAMPLE (3 ROWS)
SELECT id FROM orders TABLESAMPLE (BUCKET 1 OUT OF 3)
SELECT id FROM orders TABLESAMPLE (10 PERCENT) REPEATABLE (3)
WITH RECURSIVE o AS (SELECT id FROM orders) SELECT id FROM o
SELECT o.id FROM orders AS o NATURAL JOIN payments
SELECT o.id, p.id AS p FROM orders AS o JOIN payments AS p USING (at)
SELECT o.id, p.id AS p FROM orders AS o LEFT OUTER JOIN payments AS p ON {BOUND}
SELECT o.id FROM orders AS o LEFT ANTI JOIN payments AS p ON {BOUND}
SELECT o.id, c.country FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON c.customer = o.customer
SELECT a, b FROM orders AS o (a, b, c, d, e, f, g, h)
SELECT id, item FROM orders LATERAL VIEW OUTER EXPLODE(items) t AS item
SELECT id, item FROM orders, UNNEST(items) AS t(item)
SELECT id, item FROM orders, LATERAL UNNEST(items) AS t(item)
SELECT id, item, place FROM orders CROSS JOIN UNNEST(items) WITH ORDINALITY AS t(item, place)
SELECT id, item FROM orders CROSS JOIN UNNEST(items) AS t(item)
SELECT id, item FROM orders LATERAL VIEW POSEXPLODE(items) t AS place, item
SELECT id, x.a FROM orders, LATERAL (SELECT n + 1 AS a) AS x
SELECT * FROM (SELECT n, customer, window_end FROM {HOURS}) PIVOT (sum(n) FOR customer IN ('a' AS x, 'b')) AS p
SELECT * FROM (SELECT id, n, weight, at FROM orders) UNPIVOT INCLUDE NULLS (value FOR name IN (n AS x, weight)) AS p
SELECT * FROM (SELECT id, n, weight, at FROM orders) UNPIVOT (value FOR name IN (n AS x, weight))
SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b)
SELECT customer, window_end, sum(n) AS s FROM {HOURS} GROUP BY ALL
SELECT customer, window_end, sum(n) AS s, grouping_id() AS g FROM {HOURS} GROUP BY window_end, CUBE (customer, n)
SELECT customer, window_end, sum(n) AS s, grouping_id() AS g FROM {HOURS} GROUP BY window_end, ROLLUP (customer, n)
SELECT customer, sum(n) AS s, grouping_id() AS g, window_end FROM {HOURS} GROUP BY GROUPING SETS ((window_end), (window_end, customer))
SELECT customer, window_end, sum(n) AS s FROM {HOURS} GROUP BY customer, window_end WITH ROLLUP
SELECT customer, window_end, sum(n) AS s FROM {HOURS} GROUP BY customer, window_end HAVING s > 1
SELECT id, n FROM {HOURS} QUALIFY row_number() OVER (PARTITION BY window_end ORDER BY n DESC NULLS FIRST) = 1
SELECT id, sum(n) OVER w AS s FROM {HOURS} WINDOW w AS (PARTITION BY window_end ORDER BY at ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)
SELECT id, sum(n) OVER (w ORDER BY at) AS s FROM {HOURS} WINDOW w AS (PARTITION BY window_end)
SELECT id, sum(n) OVER (PARTITION BY window_end ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) AS s FROM {HOURS}
SELECT id, first_value(n) IGNORE NULLS OVER (PARTITION BY window_end ORDER BY at) AS s FROM {HOURS}
SELECT id, first_value(n) RESPECT NULLS OVER (PARTITION BY window_end ORDER BY at) AS s FROM {HOURS}
SELECT id, at FROM orders ORDER BY at DESC NULLS LAST LIMIT 3
SELECT id, at FROM orders ORDER BY at DESC NULLS LAST LIMIT 3 OFFSET 1
SELECT DISTINCT id, at FROM orders
SELECT DISTINCT ON (id) id, at FROM orders
SELECT * EXCEPT (n, items) FROM orders
SELECT o.* EXCEPT (n, items) FROM orders AS o
SELECT o.place.city AS a, place.at.x AS b, o.place.at.x AS c FROM orders AS o
SELECT `id` AS `an id` FROM `orders`
SELECT id, stack(2, n, weight) AS (a) FROM orders
SELECT window_end, count(DISTINCT n, id) AS c, sum(n) FILTER (WHERE weight > 1) AS s FROM {HOURS} GROUP BY window_end
SELECT window_end, array_agg(n ORDER BY weight DESC NULLS LAST) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, array_agg(DISTINCT n ORDER BY n DESC) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, listagg(id, ', ') WITHIN GROUP (ORDER BY weight DESC) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, percentile_cont(0.5) WITHIN GROUP (ORDER BY weight DESC) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, mode() WITHIN GROUP (ORDER BY n DESC) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, first(n, true) AS a, first(n) IGNORE NULLS AS b FROM {HOURS} GROUP BY window_end
SELECT id, filter(items, x -> x > 'a') AS a, aggregate(items, 0, (t, x) -> t + 1) AS b FROM orders
SELECT id, named_struct('a', n) AS a, struct(n AS x, id) AS b, struct(*) AS c FROM orders
SELECT id, (n, id) IN ((1, 'a'), (2, 'b')) AS a, n IN (1, 2) AS b, n NOT BETWEEN 1 AND 2 AS c FROM orders
SELECT id, n BETWEEN SYMMETRIC 1 AND 2 AS a FROM orders
SELECT id, items[0] AS a, CAST(n AS DECIMAL(10, 2)) AS b, TRY_CAST(id AS INT) AS c, n::STRING AS d FROM orders
SELECT id, CAST(place AS STRUCT<city: STRING, at: STRUCT<x: BIGINT>>) AS a, CAST(items AS ARRAY<INT>) AS b FROM orders
SELECT id, CAST(NULL AS STRUCT<a: INT NOT NULL>) AS a FROM orders
SELECT id, at + INTERVAL '1 2:03' DAY TO MINUTE AS a, at - INTERVAL 1 HOUR 30 MINUTES AS b FROM orders
SELECT id, CASE n WHEN 1 THEN 'a' ELSE 'b' END AS a, CASE WHEN n > 1 THEN 1 END AS b FROM orders
SELECT id, id LIKE 'a!%' ESCAPE '!' AS a, id NOT LIKE 'b' AS b, id LIKE ANY ('a', 'b') AS c, id RLIKE 'a' AS d FROM orders
SELECT id, id ILIKE 'a' AS a, id ILIKE ALL ('a', 'b') AS b, n IS NOT NULL AS c, n IS DISTINCT FROM 1 AS d FROM orders
SELECT id, extract(year FROM at) AS a, trim(LEADING 'x' FROM id) AS b, substring(id FROM 2 FOR 1) AS c FROM orders
SELECT id, position('a' IN id) AS a, overlay(id PLACING 'b' FROM 1 FOR 2) AS b, id COLLATE UTF8_LCASE = 'a' AS c FROM orders
SELECT id, -n AS a, NOT n > 1 AS b, n % 2 AS c, n DIV 2 AS d, n & 1 AS e, n | 1 AS f, n ^ 1 AS g, ~n AS h FROM orders
SELECT id, id || 'a' AS a, n << 1 AS b, n >> 1 AS c, n <=> 1 AS d, X'61' AS e, n <> 1 OR n = 1 AS f FROM orders
SELECT id FROM orders AS o WHERE EXISTS (SELECT 1 FROM payments AS p WHERE p.order_id = o.id AND {BOUND})
SELECT id FROM orders AS o WHERE o.id NOT IN (SELECT p.order_id FROM payments AS p WHERE {BOUND})
SELECT id FROM {HOURS} AS o WHERE n > (SELECT avg(i.n) FROM {HOURS} AS i WHERE i.window_end = o.window_end)
SELECT window_start, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY, INTERVAL '1' HOUR) GROUP BY window_start
SELECT window_start, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY, 'Europe/Berlin') GROUP BY window_start
SELECT customer, window_start, window_end, count(*) AS n FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '1' HOUR) GROUP BY ALL
SELECT window_start, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR) GROUP BY window_start
SELECT /*+ BROADCAST(p) */ o.id FROM orders AS o JOIN payments AS p ON {BOUND}
SELECT m.id, m.x FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY at MEASURES FINAL LAST(both.n) AS x ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (a+ b) WITHIN INTERVAL '1' HOUR SUBSET both = (a, b) DEFINE a AS a.n > 1) AS m
SELECT id, at FROM orders ORDER BY at FETCH FIRST 3 ROWS WITH TIES
SELECT id FROM orders ORDER BY at LIMIT 3 OFFSET 2
