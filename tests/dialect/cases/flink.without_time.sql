--- a count for ever
WITH (retention = 'forever') AS SELECT customer, count(*) AS n FROM clicks GROUP BY customer

--- a count
SELECT customer, count(*) AS n FROM clicks GROUP BY customer
-- says: holds every row of stream "clicks" for ever, which declares no watermark

--- a stateless view
SELECT customer, upper(page) AS page FROM clicks WHERE n > 1

--- the latest
WITH (retention = 'forever') AS SELECT customer, max(n) AS most FROM clicks GROUP BY customer

--- distinct
WITH (retention = 'forever') AS SELECT DISTINCT page FROM clicks

--- top-N
WITH (retention = 'forever') AS SELECT customer, n, r FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY n DESC) AS r FROM clicks) WHERE r <= 2

--- a join
WITH (retention = 'forever') AS SELECT c.customer, p.country FROM clicks c JOIN customers p ON c.customer = p.customer
-- says: can't keep its rows up to date

--- lag by arrival
WITH (retention = 'forever') AS SELECT customer, n, lag(n) OVER (PARTITION BY customer ORDER BY _arrived_at) AS b FROM clicks
-- unanswered: the order of arrival is ours
