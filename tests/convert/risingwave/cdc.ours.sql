-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE patients (
  id INT NOT NULL,
  city STRING,
  PRIMARY KEY (id)
)
WITH (connector = 'postgres', url = 'postgresql://rw:${PASSWORD}@db:5432/clinic', table = 'public.patients', slot = 'clinic_slot', publication = 'clinic_pub');

-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE visits
WITH (connector = 'postgres', slot = 'clinic_slot', publication = 'clinic_pub', url = 'postgresql://rw:${PASSWORD}@db:5432/clinic', table = 'public.visits');

CREATE MATERIALIZED VIEW patients_per_city AS
SELECT
  city,
  COUNT(*) AS patients
FROM patients
GROUP BY
  city;

-- headwater check: has errors
-- columns-unknown ours.sql:12:14: table "visits" leaves its columns to its database, and they are not known
