CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW compared AS
SELECT t.id, x.n, x.most FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) t
JOIN LATERAL (SELECT count(*) AS n, max(o.price) AS most FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) o WHERE o.window_end = t.window_end AND o.symbol = t.symbol) AS x
WHERE x.n <> 1;
