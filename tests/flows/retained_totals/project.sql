CREATE STREAM sales (
  id STRING, shop STRING, pieces INT, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- what adds up is kept as totals: a shop whose last amount is gone has NULL, not 0, and one without rows is gone
CREATE MATERIALIZED VIEW per_shop WITH (retention = '20 seconds', grace = '2 seconds') AS
SELECT shop, count(*) AS n, count(amount) AS known, count_if(pieces > 1) AS several, sum(amount) AS total,
  sum(pieces) AS pieces, avg(pieces) AS each, avg(amount) AS price, sum(amount) FILTER (WHERE pieces > 1) AS of_several
FROM sales WHERE id <> 'x' GROUP BY shop;
