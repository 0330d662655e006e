CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- a row is final when the last row that its frame can hold is: five seconds later, and grace
CREATE MATERIALIZED VIEW around WITH (grace = '3 seconds') AS
SELECT id, sum(price) OVER (PARTITION BY symbol ORDER BY made_at
  RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND INTERVAL '5' SECOND FOLLOWING) AS total,
  count(*) OVER (PARTITION BY symbol ORDER BY made_at DESC RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) AS soon
FROM trades;
