CREATE SOURCE pg WITH (connector = 'postgres-cdc', hostname = 'db', port = '5432', username = 'rw', password = 'pw',
  database.name = 'clinic', slot.name = 'clinic_slot', publication.name = 'clinic_pub');
CREATE TABLE patients (id int PRIMARY KEY, city varchar) FROM pg TABLE 'public.patients';
CREATE TABLE visits (*) FROM pg TABLE 'public.visits';
CREATE MATERIALIZED VIEW patients_per_city AS SELECT city, count(*) AS patients FROM patients GROUP BY city;
