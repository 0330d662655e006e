CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

-- without a window, a row is late iff its event time + grace is at or before its stamp: a copy could not be told any more
CREATE MATERIALIZED VIEW once AS
SELECT id, shop, amount, made_at FROM events WHERE amount > 1;
