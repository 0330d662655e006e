CREATE STREAM orders (
  id STRING, customer STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING, order_id STRING, paid DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);

CREATE MATERIALIZED VIEW computed AS
SELECT id, amount + 1 AS more, more * 2 AS twice, 100 - more AS rest, amount > 15 OR customer = 'x' AS either, NOT either AS neither,
  customer || '-' AS tag, tag || id AS label
FROM orders;
