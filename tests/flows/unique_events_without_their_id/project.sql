CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

-- what tells copies from events isn't shown: equal rows are those of different events
CREATE MATERIALIZED VIEW once AS
SELECT shop, amount + 1 AS more FROM events;
