CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- of rows at the same time the log decides which comes first, and which last
CREATE MATERIALIZED VIEW ends AS
SELECT id, first_value(id) OVER ten AS first, last_value(id) OVER ten AS last, nth_value(id, 2) OVER ten AS second,
  last_value(price) IGNORE NULLS OVER ten AS priced, collect_list(id) OVER ten AS ids, max_by(id, price) OVER ten AS dearest
FROM trades
WINDOW ten AS (PARTITION BY symbol ORDER BY made_at RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
