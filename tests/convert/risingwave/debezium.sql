CREATE TABLE seats (id bigint, hall varchar, taken boolean, PRIMARY KEY (id))
WITH (connector = 'kafka', topic = 'cinema.seats', properties.bootstrap.server = 'b:9092', scan.startup.timestamp.millis = '1767225600000')
FORMAT DEBEZIUM ENCODE JSON;
CREATE MATERIALIZED VIEW taken_seats AS SELECT hall, count(*) AS taken FROM seats WHERE taken GROUP BY hall;
CREATE SINK hall_hook AS SELECT hall, taken FROM taken_seats WHERE taken > 100 WITH (connector = 'jdbc', jdbc.url = 'jdbc:postgresql://db/x', table.name = 'halls', type = 'upsert', primary_key = 'hall');
