CREATE TABLE likes (post bigint, person bigint, liked_at timestamp);
INSERT INTO likes VALUES (1, 2, '2026-01-01 00:00:00');
CREATE MATERIALIZED VIEW likes_per_post AS
SELECT post, count(DISTINCT person) AS people, string_agg(person::varchar, ',' ORDER BY liked_at) AS who FROM likes GROUP BY post;
CREATE MATERIALIZED VIEW top_posts AS SELECT post, people FROM likes_per_post ORDER BY people DESC LIMIT 10;
