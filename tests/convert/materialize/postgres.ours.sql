-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE pupils
WITH (publication = 'mz_source', connector = 'postgres', url = 'postgresql://mz:${PASSWORD}@db:5432/school', table = 'public.pupils');

-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE marks
WITH (publication = 'mz_source', connector = 'postgres', url = 'postgresql://mz:${PASSWORD}@db:5432/school', table = 'public.marks');

CREATE MATERIALIZED VIEW marks_of AS
SELECT
  p.name,
  m.mark
FROM pupils AS p
JOIN marks AS m
  ON p.id = m.pupil;

-- headwater check: has errors
-- columns-unknown ours.sql:3:14: table "pupils" leaves its columns to its database, and they are not known
-- columns-unknown ours.sql:8:14: table "marks" leaves its columns to its database, and they are not known
