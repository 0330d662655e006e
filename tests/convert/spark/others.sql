CREATE DATABASE shop;
USE shop;
CREATE FUNCTION clean AS 'com.example.Clean' USING JAR '/jars/clean.jar';
CREATE TABLE notes (id INT GENERATED ALWAYS AS IDENTITY, text STRING, extra VARIANT) USING json LOCATION '/data/notes';
OPTIMIZE notes;
CREATE VIEW short (note, letters) AS SELECT text, length(text) FROM notes;
CREATE MATERIALIZED VIEW unknown AS SELECT x FROM nowhere;
