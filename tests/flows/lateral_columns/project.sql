CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW computed AS
SELECT t.id, x.twice, x.label FROM trades t, LATERAL (SELECT t.price * 2 AS twice, concat(t.symbol, '!') AS label) AS x
WHERE x.twice > 20;
