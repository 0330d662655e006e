CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id', within = '10 seconds');

CREATE MATERIALIZED VIEW taken AS SELECT id, shop, amount, made_at FROM sales WHERE amount < 8;
