CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW once WITH (grace = '10 seconds') AS
SELECT id, shop, amount + 1 AS more, made_at FROM events;
