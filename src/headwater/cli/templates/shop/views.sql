-- What each product sells, minute by minute
CREATE MATERIALIZED VIEW sales_per_minute
WITH (grace = '10 minutes') AS
SELECT product, window_start, window_end, count(*) AS orders, sum(quantity * price) AS revenue
FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY product, window_start, window_end;

-- Orders worth a second look, each once and as soon as it comes, in whatever order
CREATE MATERIALIZED VIEW large_orders AS
SELECT id, customer, product, quantity * price AS total, at
FROM orders
WHERE quantity * price > 500;
