CREATE STREAM payments (
  id STRING, customer STRING, amount DECIMAL(10, 2), paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND
);
CREATE TABLE customers (
  id STRING, tier STRING, limit_of DECIMAL(10, 2), changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '5' SECOND,
  PRIMARY KEY (id)
);

-- a view that others take in, and windows over its rows: lateness is that of the payment
CREATE MATERIALIZED VIEW enriched AS
SELECT p.id, p.amount, p.paid_at, c.tier
FROM payments p JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c ON p.customer = c.id;

CREATE MATERIALIZED VIEW per_tier WITH (grace = '2 seconds') AS
SELECT window_end, tier, count(*) AS n, sum(amount) AS amount
FROM TUMBLE(TABLE enriched, DESCRIPTOR(paid_at), INTERVAL '10' SECOND)
GROUP BY window_end, tier;
