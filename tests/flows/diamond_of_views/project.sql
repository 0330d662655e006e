CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

CREATE MATERIALIZED VIEW per_symbol WITH (emit = 'final') AS
SELECT symbol, window_start, window_end, count(*) AS n
FROM TUMBLE(TABLE trades, DESCRIPTOR(made_at), INTERVAL '10' SECOND) GROUP BY symbol, window_start, window_end;

CREATE MATERIALIZED VIEW most AS SELECT window_end, max(n) AS n FROM per_symbol GROUP BY window_end;
CREATE MATERIALIZED VIEW whole AS SELECT window_end, sum(n) AS n FROM per_symbol GROUP BY window_end;

-- two views of one view, joined again: both are of the same trades, wherever each of them is just now
CREATE MATERIALIZED VIEW share WITH (emit = 'final') AS
SELECT m.window_end, m.n AS most, w.n AS whole FROM most AS m JOIN whole AS w ON m.window_end = w.window_end;
