CREATE STREAM transactions (
  id STRING, card STRING, amount DECIMAL(10, 2), at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'card');
CREATE MATERIALIZED VIEW card_testing AS SELECT card, started_at, amount FROM transactions MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY at
  MEASURES FIRST(small.at) AS started_at, LAST(large.amount) AS amount
  PATTERN (small{2,} large) WITHIN INTERVAL '1' MINUTE
  DEFINE small AS amount < 1, large AS amount > 5) WHERE amount < 100;
CREATE MATERIALIZED VIEW counted AS SELECT window_end, count(*) AS n FROM TUMBLE(TABLE card_testing, DESCRIPTOR(started_at), INTERVAL '10' SECOND) GROUP BY window_end;
