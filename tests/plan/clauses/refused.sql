SELECT id, at FROM orders ORDER BY at OFFSET 3
SELECT o.id FROM orders AS o ASOF JOIN payments AS p ON o.at >= p.at
SELECT * REPLACE (n + 1 AS n) FROM orders
SELECT * RENAME (n AS m) FROM orders
SELECT * ILIKE 'n%' FROM orders
SELECT id FROM shop.orders
SELECT id FROM spark.shop.orders
SELECT id FROM orders DISTRIBUTE BY id
SELECT id FROM orders CLUSTER BY id
SELECT id FROM orders SORT BY id
SELECT id FROM orders FOR UPDATE
SELECT AS STRUCT id FROM orders
SELECT id INTO other FROM orders
SELECT id, n FROM orders PREWHERE n > 1
SELECT id, at FROM orders ORDER BY at FETCH FIRST 3 ROWS WITH TIES
SELECT id, at FROM orders ORDER BY at FETCH FIRST 30 PERCENT ROWS ONLY
SELECT id, at FROM orders ORDER BY at LIMIT 3 BY id
SELECT id, at FROM orders ORDER BY at WITH FILL LIMIT 3
SELECT id FROM orders ORDER SIBLINGS BY at LIMIT 3
SELECT id FROM orders START WITH n = 1 CONNECT BY id = customer
SELECT customer, window_end, sum(n) AS s FROM {HOURS} GROUP BY customer, window_end WITH TOTALS
SELECT o.id FROM orders AS o, payments AS p WHERE o.at = p.at(+)
SELECT o.id FROM orders AS o CROSS APPLY (SELECT 1 AS x) AS y
SELECT id, x FROM orders LATERAL FLATTEN(items) WITH ORDINALITY AS t(x)
SELECT id FROM ONLY orders
SELECT id FROM (orders JOIN payments ON orders.at = payments.at)
SELECT country FROM customers FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01'
SELECT country FROM customers AS KNOWN AT TIMESTAMP '2026-01-01'
SELECT o.id, c.country FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.at AS KNOWN AT o.at AS c ON c.customer = o.customer
SELECT t.id, x.a FROM orders AS t JOIN LATERAL (SELECT t.n + 1 AS a) AS x ON x.a > 3
SELECT t.id, x.a FROM orders AS t FULL JOIN LATERAL (SELECT t.n + 1 AS a) AS x ON TRUE
SELECT id FROM orders PARTITION (n = 1)
SELECT window_end, array_agg(n LIMIT 3) AS c FROM {HOURS} GROUP BY window_end
SELECT window_end, any_value(n HAVING MAX weight) AS c FROM {HOURS} GROUP BY window_end
SELECT id, CAST(id AS DATE FORMAT 'YYYY') AS c FROM orders
SELECT id, CAST(id AS INT DEFAULT 0 ON CONVERSION ERROR) AS c FROM orders
SELECT id, max(n) KEEP (DENSE_RANK FIRST ORDER BY n) AS c FROM orders
SELECT id, n IN UNNEST(items) AS c FROM orders
SELECT id, sum(n) OVER (PARTITION BY window_end ORDER BY n GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM {HOURS}
SELECT id FROM orders, GENERATE_SERIES(1, 2) AS t(x)
SELECT id, items[1:2] AS a FROM orders
