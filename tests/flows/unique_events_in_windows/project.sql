CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW per_shop WITH (emit = 'changes', grace = '4 seconds') AS
SELECT shop, window_end, count(*) AS n, sum(amount) AS total
FROM TUMBLE(TABLE events, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY shop, window_end;
