CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE MATERIALIZED VIEW again AS
SELECT a.id, b.id AS next_id, b.amount
FROM sales a JOIN sales b
ON a.shop = b.shop AND b.made_at > a.made_at AND b.made_at <= a.made_at + INTERVAL '12' SECOND AND a.id <> b.id;
