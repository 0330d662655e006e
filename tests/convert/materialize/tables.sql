CREATE CONNECTION pg TO POSTGRES (HOST 'db', USER 'mz', DATABASE 'school');
CREATE SOURCE school IN CLUSTER ingest FROM POSTGRES CONNECTION pg (PUBLICATION 'p');
CREATE TABLE rooms (id int PRIMARY KEY, seats int) FROM SOURCE school (REFERENCE public.rooms);
CREATE TABLE remarks (id int, remark text);
CREATE VIEW large_rooms AS SELECT id FROM rooms WHERE seats >= 100;
