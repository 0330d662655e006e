CREATE STREAM payments (
  id STRING, customer STRING, amount DECIMAL(10, 2), paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND
);
CREATE TABLE customers (
  id STRING, tier STRING, limit_of DECIMAL(10, 2), changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '5' SECOND,
  PRIMARY KEY (id)
);

-- spent by tier, as each customer was when paying; computed behind the as-of join
CREATE MATERIALIZED VIEW by_tier WITH (grace = '10 seconds', emit = 'final') AS
WITH enriched AS (
  SELECT p.paid_at, p.amount, coalesce(c.tier, 'none') AS tier
  FROM payments p LEFT JOIN customers FOR SYSTEM_TIME AS OF p.paid_at AS c ON p.customer = c.id
)
SELECT tier, window_end, sum(amount) AS spent, count(*) AS n
FROM TUMBLE(TABLE enriched, DESCRIPTOR(paid_at), INTERVAL '10' SECOND)
GROUP BY tier, window_end;
