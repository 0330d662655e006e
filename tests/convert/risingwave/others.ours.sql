-- Not carried over: Put it into the environment, and name it in headwater.toml as ${NAME}.
-- CREATE SECRET broker_password WITH (backend = 'meta') AS 'x'

-- Not carried over: Put it into headwater.toml: [kafka.main] with "bootstrap.servers" = "host:9092".
-- CREATE CONNECTION c WITH (type = 'kafka', properties.bootstrap.server = 'b:9092')

-- Not carried over: Files are written as a table of Delta Lake here: CREATE OUTLET nothing_out FROM nothing TO
--   'delta://s3://lake'.
-- CREATE SINK archive FROM nothing WITH (connector = 'iceberg', warehouse.path = 's3://lake')

-- Not carried over: Write CREATE FUNCTION … RETURN with an expression of SQL, or a function in Python, with
--   @hw.function.
-- CREATE FUNCTION gcd(int, int) RETURNS int LANGUAGE python AS gcd USING LINK 'http://localhost:8815'

-- Note: connector 'datagen' has no counterpart. Leave it out, and make events up with `headwater generate STREAM`.
-- Note: 'fields.v.kind' = 'sequence' was left out. There is no such option here.
-- Note: 'datagen.rows.per.second' = '5' was left out. There is no such option here.
-- Note: format = 'json' was left out: there is no such option without a connector.

CREATE STREAM `load` (
  v INT
);

-- Not carried over: Delete the declaration from its file.
-- DROP MATERIALIZED VIEW old_view

-- Not carried over: Edit the declaration; a run takes it over with `headwater promote`.
-- ALTER TABLE load ADD COLUMN w int

CREATE MATERIALIZED VIEW twice AS
SELECT
  v * 2 AS doubled,
  CURRENT_TIMESTAMP() AS asked_at
FROM `load`;

-- headwater check: has errors
-- impure-function ours.sql:33:3: view "twice" calls "current_timestamp", which is not a pure function
