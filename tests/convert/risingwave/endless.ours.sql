-- Note: Its rows come from INSERT: append them as events, `headwater append`.

CREATE STREAM likes (
  post BIGINT,
  person BIGINT,
  liked_at TIMESTAMP
);

-- Not carried over: Write CREATE MATERIALIZED VIEW name AS SELECT …: it is kept up to date by itself. Events are
--   appended with `headwater append`.
-- INSERT INTO likes VALUES (1, 2, '2026-01-01 00:00:00')

-- Note: It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go.

CREATE MATERIALIZED VIEW likes_per_post
WITH (retention = 'forever') AS
SELECT
  post,
  COUNT(DISTINCT person) AS people,
  LISTAGG(CAST(person AS STRING), ',') WITHIN GROUP (ORDER BY
    liked_at NULLS LAST) AS who
FROM likes
GROUP BY
  post;

CREATE MATERIALIZED VIEW top_posts AS
SELECT
  post,
  people
FROM likes_per_post
ORDER BY
  people DESC NULLS FIRST
LIMIT 10;

-- headwater check: ok
