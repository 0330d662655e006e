CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '1' DAY
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW sliding WITH (emit = 'final', grace = '12 hours') AS
SELECT shop, window_start, window_end, count(*) AS n, sum(amount) AS total, max_by(id, amount) AS best
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '15' DAY, INTERVAL '90' DAY, INTERVAL '36' HOUR)
GROUP BY shop, window_start, window_end;
