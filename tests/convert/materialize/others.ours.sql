-- Not carried over: Leave it out: `headwater run` keeps the views, as many processes as you start.
-- CREATE CLUSTER quick (SIZE = '25cc')

-- Not carried over: FROM LOAD has no counterpart. Make events up with `headwater generate STREAM`, or append them.
-- CREATE SOURCE made FROM LOAD GENERATOR AUCTION (TICK INTERVAL '1s') FOR ALL TABLES

-- Not carried over: FROM WEBHOOK has no counterpart. Make events up with `headwater generate STREAM`, or append them.
-- CREATE SOURCE hooks FROM WEBHOOK BODY FORMAT JSON

-- Not carried over: Put settings into headwater.toml.
-- SET CLUSTER = quick

-- Not carried over: Ask `headwater watch VIEW`.
-- SUBSCRIBE (SELECT 1)

-- Note: DEFAULT now() of made_at: a default here is a constant, DEFAULT '…' behind the type.
-- Note: Its rows come from INSERT: append them as events, `headwater append`.

CREATE STREAM lists (
  id INT,
  parts ARRAY<INT>,
  kept MAP<STRING, INT>,
  made_at TIMESTAMP
);

-- Not carried over: the query can't be parsed. Expecting (
-- CREATE MATERIALIZED VIEW looping AS WITH MUTUALLY RECURSIVE t(x int) AS (SELECT 1 UNION SELECT x + 1 FROM t) SELECT x FROM t

-- headwater check: ok
