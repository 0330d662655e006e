-- Trips of rented bicycles.
CREATE TABLE trips (bike STRING, station STRING, km DOUBLE, ended_at TIMESTAMP)
USING json
OPTIONS (path '/data/trips', maxFilesPerTrigger '10');

CREATE MATERIALIZED VIEW trips_per_hour AS
SELECT station, window.start AS hour_start, count(*) AS trips
FROM STREAM(trips) WATERMARK ended_at DELAY OF INTERVAL 10 MINUTES
GROUP BY station, window(ended_at, '1 hour');
