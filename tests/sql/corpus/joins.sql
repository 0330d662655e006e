CREATE MATERIALIZED VIEW interval_join AS
SELECT o.id, s.shipped_at FROM orders AS o, shipments s
WHERE o.id = s.order_id AND s.shipped_at BETWEEN o.at - INTERVAL '4' HOUR AND o.at;

CREATE MATERIALIZED VIEW left_interval_join WITH (horizon = '1 day') AS
SELECT o.*, p.paid_at FROM orders o LEFT OUTER JOIN payments p
ON o.id = p.order_id AND p.paid_at >= o.at AND p.paid_at < o.at + INTERVAL 1 HOUR 30 MINUTES;

CREATE MATERIALIZED VIEW priced WITH (key = 'id') AS
SELECT o.id, o.price * r.rate AS euros FROM orders o
JOIN currency_rates FOR SYSTEM_TIME AS OF o.at AS r ON o.currency = r.currency;

CREATE MATERIALIZED VIEW priced_left AS
SELECT * FROM orders LEFT JOIN currency_rates FOR SYSTEM_TIME AS OF orders.at ON orders.currency = currency_rates.currency;

CREATE MATERIALIZED VIEW spark_as_of AS SELECT * FROM orders o JOIN rates TIMESTAMP AS OF o.at r ON o.c = r.c;

CREATE MATERIALIZED VIEW semi AS SELECT * FROM a LEFT SEMI JOIN b ON a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL '1' MINUTE;

CREATE MATERIALIZED VIEW full_join AS SELECT * FROM a FULL OUTER JOIN b USING (id, window_end);

CREATE MATERIALIZED VIEW three AS SELECT a.x, b.y, c.z FROM a JOIN b ON a.k = b.k CROSS JOIN c LEFT ANTI JOIN d ON a.k = d.k;

CREATE VIEW both AS SELECT id, at FROM a UNION ALL SELECT id, at FROM b UNION ALL (SELECT id, at FROM c WHERE x > 1);

CREATE VIEW either AS SELECT id FROM a UNION SELECT id FROM b INTERSECT SELECT id FROM c EXCEPT SELECT id FROM d;

CREATE VIEW lateral_view AS SELECT id, tag FROM posts LATERAL VIEW OUTER EXPLODE(tags) t AS tag;

CREATE VIEW lateral_join AS SELECT id, tag FROM posts, LATERAL explode(tags) AS t(tag);

CREATE VIEW with_ctes AS
WITH big AS (SELECT * FROM orders WHERE price > 100), small (a, b) AS (SELECT id, price FROM orders)
SELECT * FROM big JOIN small ON big.id = small.a;

CREATE VIEW inner_query AS SELECT * FROM (SELECT id, max(price) AS p FROM orders GROUP BY id) AS m WHERE p IN (SELECT p FROM limits) AND EXISTS (SELECT 1 FROM x WHERE x.id = m.id);
