CREATE MATERIALIZED VIEW spend_per_minute
WITH (grace = '10 minutes', late = 'keep', emit = 'changes', store = 'main') AS
SELECT card_id, window_start, window_end, sum(amount) AS spent, count(*) AS n
FROM TUMBLE(TABLE transactions, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY card_id, window_start, window_end;

CREATE MATERIALIZED VIEW flink_form AS
SELECT window_start, window_end, SUM(price) AS total
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
GROUP BY window_start, window_end;

CREATE MATERIALIZED VIEW short_form AS
SELECT window_start, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL 10 MINUTES, INTERVAL '1' MINUTE) AS w GROUP BY window_start;

CREATE MATERIALIZED VIEW named_form AS
SELECT window_start, count(*) AS n
FROM TABLE(TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES, OFFSET => INTERVAL '1' MINUTE))
GROUP BY window_start;

CREATE MATERIALIZED VIEW hops AS
SELECT window_start, window_end, avg(price) AS mean FROM HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)
GROUP BY window_start, window_end EMIT CHANGES;

CREATE MATERIALIZED VIEW hops_named AS
SELECT window_start, max(price) AS top
FROM HOP(SIZE => INTERVAL '1' HOUR, SLIDE => INTERVAL '1' MINUTE, DATA => bids, TIMECOL => ts) GROUP BY window_start EMIT FINAL;

CREATE MATERIALIZED VIEW growing AS
SELECT window_start, window_end, sum(price) AS total
FROM CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES) GROUP BY window_start, window_end
EMIT ON WINDOW CLOSE;

CREATE MATERIALIZED VIEW visits WITH (grace = '1 hour 30 minutes', late = 'drop') AS
SELECT user_id, window_start, window_end, count(*) AS pages
FROM SESSION(TABLE clicks PARTITION BY user_id, DESCRIPTOR(at), INTERVAL '30' MINUTES)
GROUP BY user_id, window_start, window_end;

CREATE MATERIALIZED VIEW visits_by_two AS
SELECT window_start FROM SESSION(clicks PARTITION BY user_id, url, at, INTERVAL 1 HOUR 30 MINUTES) s GROUP BY user_id, url, window_start;

CREATE MATERIALIZED VIEW visits_paren AS
SELECT count(*) AS n FROM SESSION(TABLE clicks PARTITION BY (user_id, url), DESCRIPTOR(at), INTERVAL '90' SECOND) GROUP BY user_id, url;

CREATE MATERIALIZED VIEW one_session AS
SELECT window_start, count(*) AS n FROM SESSION(TABLE clicks, DESCRIPTOR(at), GAP => INTERVAL '30' MINUTES) GROUP BY window_start;

CREATE MATERIALIZED VIEW filtered_first AS
SELECT window_end, count(*) AS n
FROM TUMBLE((SELECT * FROM bids WHERE price > 100), DESCRIPTOR(ts), INTERVAL '1 10' DAY TO HOUR) GROUP BY window_end;

CREATE MATERIALIZED VIEW table_subquery AS
SELECT count(*) AS n FROM TUMBLE(TABLE (SELECT ts, price FROM bids UNION ALL SELECT ts, price FROM asks), ts, INTERVAL '1' DAY) GROUP BY window_end;

CREATE MATERIALIZED VIEW window_join AS
SELECT l.window_start, l.id, r.id AS other
FROM TUMBLE(TABLE a, DESCRIPTOR(at), INTERVAL '5' MINUTE) AS l
LEFT JOIN TUMBLE(TABLE b, DESCRIPTOR(at), INTERVAL '5' MINUTE) AS r
ON l.id = r.id AND l.window_start = r.window_start AND l.window_end = r.window_end;

CREATE MATERIALIZED VIEW having_and_rollup WITH (store = 'other', retention = '7 days') AS
SELECT country, card_id, window_end, sum(amount) AS s FROM TUMBLE(transactions, at, INTERVAL '1' HOUR)
GROUP BY window_end, ROLLUP (country, card_id) HAVING sum(amount) > 100;
