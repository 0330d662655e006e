CREATE STREAM payments (
  id STRING, customer STRING, amount DECIMAL(10, 2), paid_at TIMESTAMP NOT NULL,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND
);
CREATE TABLE customers (
  id STRING, tier STRING, limit_of DECIMAL(10, 2), changed_at TIMESTAMP NOT NULL,
  WATERMARK FOR changed_at AS changed_at - INTERVAL '5' SECOND,
  PRIMARY KEY (id)
);

-- the tier at the moment of the payment; nobody, deleted then, or over the limit: no row
CREATE MATERIALIZED VIEW enriched WITH (grace = '10 seconds', emit = 'final') AS
SELECT p.id, p.paid_at, p.amount, c.tier, c.changed_at
FROM payments p JOIN customers FOR SYSTEM_TIME AS OF p.paid_at AS c ON p.customer = c.id AND p.amount <= c.limit_of;
