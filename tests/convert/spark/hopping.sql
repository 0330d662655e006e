CREATE TABLE loads (host STRING, load DOUBLE, at TIMESTAMP) USING csv OPTIONS (path 'file:///var/loads', header 'true', sep ';');
CREATE MATERIALIZED VIEW loads_now AS
SELECT host, window(at, '10 minutes', '5 minutes').end AS until, max(load) AS most
FROM loads WATERMARK at DELAY OF INTERVAL '2' MINUTE
GROUP BY host, window(at, '10 minutes', '5 minutes');
