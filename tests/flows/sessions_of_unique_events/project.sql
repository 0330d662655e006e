CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW bursts AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total, first(id) AS first_id
FROM SESSION(TABLE events PARTITION BY shop, DESCRIPTOR(made_at), INTERVAL '6' SECOND)
GROUP BY shop, window_start, window_end;
