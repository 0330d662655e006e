CREATE STREAM events (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW sliding WITH (emit = 'final') AS
SELECT window_end, count(*) AS n, sum(amount) AS total, collect_list(id) AS ids
FROM HOP(TABLE events, DESCRIPTOR(made_at), INTERVAL '5' SECOND, INTERVAL '15' SECOND)
GROUP BY window_end;
