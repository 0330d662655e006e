CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

CREATE MATERIALIZED VIEW names WITH (retention = '20 seconds') AS
SELECT shop AS name FROM sales UNION SELECT shop FROM web UNION SELECT id FROM web;
