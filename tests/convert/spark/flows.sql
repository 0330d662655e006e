CREATE TABLE web (visitor STRING, page STRING, at TIMESTAMP) USING json LOCATION '/data/web';
CREATE TABLE app (visitor STRING, page STRING, at TIMESTAMP) USING json LOCATION '/data/app';
CREATE STREAMING TABLE visits;
CREATE FLOW from_web AS INSERT INTO visits BY NAME SELECT visitor, page, 'web' AS place FROM STREAM(web);
CREATE FLOW from_app AS INSERT INTO visits BY NAME SELECT visitor, page, 'app' AS place FROM STREAM(app);
