CREATE CONNECTION k TO KAFKA (BROKER 'b:9092');
CREATE SOURCE moves (piece text, field text, moved_at timestamptz) FROM KAFKA CONNECTION k (TOPIC 'moves') FORMAT JSON;
CREATE MATERIALIZED VIEW places AS SELECT DISTINCT ON (piece) piece, field, moved_at FROM moves ORDER BY piece, moved_at DESC;
CREATE INDEX places_by_field IN CLUSTER quick ON places (field);
