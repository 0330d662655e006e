CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

-- without a window nothing is late: 13 comes out of order, far behind the watermark, and its copies come later still
CREATE MATERIALIZED VIEW once AS
SELECT id, shop, amount, made_at FROM events WHERE amount > 1;
