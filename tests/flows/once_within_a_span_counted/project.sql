CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id', within = '10 seconds');

CREATE MATERIALIZED VIEW per_id WITH (retention = '30 seconds') AS
SELECT id, count(*) AS n, max(made_at) AS last_at FROM sales GROUP BY id;
