-- Card payments as they come from tills, the web shop, kiosks and phones
CREATE STREAM payments (
  id       STRING NOT NULL,
  card     STRING NOT NULL,
  merchant STRING,
  country  STRING,
  amount   DECIMAL(10, 2),
  at       TIMESTAMP NOT NULL COMMENT 'when the card was used',
  WATERMARK FOR at AS at - INTERVAL '3' SECOND
) WITH (key = 'card', unique = 'id', idle = '5 seconds', max_ahead = '1 minute');
