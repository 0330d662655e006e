-- Note: Its rows come from INSERT: append them as events, `headwater append`.

CREATE STREAM likes (
  post BIGINT,
  person BIGINT,
  liked_at TIMESTAMP
);

-- Not carried over: Write CREATE MATERIALIZED VIEW name AS SELECT …: it is kept up to date by itself. Events are
--   appended with `headwater append`.
-- INSERT INTO likes VALUES (1, 2, '2026-01-01 00:00:00')

CREATE MATERIALIZED VIEW likes_per_post AS
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
-- held-for-ever ours.sql:13:1: view "likes_per_post" holds every row of stream "likes" for ever, which declares no watermark
