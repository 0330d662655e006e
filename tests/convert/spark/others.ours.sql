-- Not carried over: Leave it out: a project is one database, its folder.
-- CREATE DATABASE shop

-- Not carried over: Leave it out: a project is one catalog, its folder.
-- USE shop

-- Not carried over: Write CREATE FUNCTION … RETURN with an expression of SQL, or a function in Python, with
--   @hw.function.
-- CREATE FUNCTION clean AS 'com.example.Clean' USING JAR '/jars/clean.jar'

-- Note: id was numbered by its table: events carry their numbers here.
-- Note: extra: VARIANT is a STRING here, since the log can't keep it: convert it in a view.

CREATE STREAM notes (
  id INT,
  `text` STRING,
  extra STRING
)
WITH (connector = 'folder', path = '/data/notes', format = 'json');

-- Not carried over: There is no such statement here.
-- OPTIMIZE notes

CREATE VIEW `short` AS
SELECT
  `text` AS note,
  LENGTH(`text`) AS letters
FROM notes;

CREATE MATERIALIZED VIEW `unknown` AS
SELECT
  x
FROM nowhere;

-- headwater check: has errors
-- unknown-name ours.sql:33:6: view "unknown" reads "nowhere", which is declared nowhere
