-- What each card spends, minute by minute; a payment that comes late still counts for half a minute
CREATE MATERIALIZED VIEW spend_per_minute
WITH (emit = 'changes', grace = '30 seconds') AS
SELECT card, window_start, window_end, sum(amount) AS spent, count(*) AS payments
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY card, window_start, window_end;

-- How much is paid where, every ten seconds
CREATE MATERIALIZED VIEW payments_by_country
WITH (emit = 'changes') AS
SELECT country, window_start, window_end, count(*) AS payments, sum(amount) AS amount
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '10' SECOND)
GROUP BY country, window_start, window_end;

-- The three merchants that sell the most, every ten seconds
CREATE MATERIALIZED VIEW top_merchants AS
SELECT window_end, row_number() OVER (PARTITION BY window_end ORDER BY sum(amount) DESC, merchant) AS place,
       merchant, sum(amount) AS revenue, count(*) AS payments
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '10' SECOND)
GROUP BY merchant, window_end
QUALIFY place <= 3;

-- A card that pays in two countries within two minutes
CREATE MATERIALIZED VIEW velocity AS
SELECT a.card, a.country AS here, b.country AS there, a.at AS first_at, b.at AS second_at, b.id AS payment
FROM payments a JOIN payments b
ON a.card = b.card AND a.country <> b.country AND b.at > a.at AND b.at <= a.at + INTERVAL '2' MINUTE;

-- What belongs together: the payments of a card with less than twenty seconds between them
CREATE MATERIALIZED VIEW sessions AS
SELECT card, window_start, window_end, count(*) AS payments, sum(amount) AS spent
FROM SESSION(TABLE payments PARTITION BY card, DESCRIPTOR(at), INTERVAL '20' SECOND)
GROUP BY card, window_start, window_end;

-- Too many payments of one card in ten seconds
CREATE MATERIALIZED VIEW fraud_alerts
WITH (emit = 'changes') AS
SELECT card, window_start, window_end, count(*) AS payments, sum(amount) AS amount
FROM TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '10' SECOND)
GROUP BY card, window_start, window_end
HAVING count(*) >= 8;
