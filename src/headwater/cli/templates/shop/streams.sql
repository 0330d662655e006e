-- Orders as they come from the tills and the web shop
CREATE STREAM orders (
  id       STRING NOT NULL,
  customer STRING,
  product  STRING,
  quantity INT,
  price    DECIMAL(10, 2),
  at       TIMESTAMP NOT NULL COMMENT 'when the customer paid',
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'customer', unique = 'id', idle = '30 seconds');
