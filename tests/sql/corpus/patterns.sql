CREATE MATERIALIZED VIEW dips AS
SELECT symbol, start_at, bottom, end_at FROM ticker
MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY at
  MEASURES first(down.at) AS start_at, LAST(down.price) AS bottom, FINAL LAST(up.at) AS end_at
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (top down+ up+) WITHIN INTERVAL '1' HOUR
  DEFINE down AS down.price < PREV(down.price), up AS up.price > LAST(down.price, 1)
) AS dip;

CREATE MATERIALIZED VIEW cards AS
SELECT * FROM transactions MATCH_RECOGNIZE (
  PARTITION BY card_id, country ORDER BY at
  MEASURES A.id AS first_id, CLASSIFIER() AS kind, RUNNING sum(B.amount) AS so_far
  ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO LAST B
  PATTERN (^ A (B | C*?){2,5} {- D -} PERMUTE(E, F)? $)
  DEFINE A AS A.amount < 1, B AS B.amount > 100
) WHERE so_far > 1000;

CREATE MATERIALIZED VIEW every_row AS
SELECT * FROM s MATCH_RECOGNIZE (ORDER BY at MEASURES a.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (a{3} b{,2} c{4,}) DEFINE b AS v > 1);

CREATE MATERIALIZED VIEW unpaid AS
SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY id ORDER BY at MEASURES FIRST(at) AS ordered_at PATTERN (ordered (a | b) [^ paid ]) WITHIN INTERVAL '30' MINUTE SUBSET both = (a, b), all = (a, ordered) DEFINE paid AS kind = 'paid');
