CREATE STREAM payments (
  id STRING, customer STRING, amount DECIMAL(10, 2), paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND
);
CREATE TABLE customers (
  id STRING, tier STRING, limit_of DECIMAL(10, 2), changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '5' SECOND,
  PRIMARY KEY (id)
);

-- the tier that was known when the payment arrived; nobody, deleted by then, or over the limit: NULL.
-- No row waits for the watermark of the customers, and no change is too late; a change of earlier still replaces none.
CREATE MATERIALIZED VIEW enriched AS
SELECT p.id, p.amount, c.tier
FROM payments p LEFT JOIN customers FOR SYSTEM_TIME AS OF p._arrived_at AS c
  ON p.customer = c.id AND p.amount <= c.limit_of;
