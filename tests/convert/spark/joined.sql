CREATE TABLE ads (ad STRING, shown_at TIMESTAMP) USING json LOCATION '/data/ads';
CREATE TABLE clicks (ad STRING, clicked_at TIMESTAMP) USING json LOCATION '/data/clicks';
CREATE MATERIALIZED VIEW clicked AS
SELECT a.ad, a.shown_at, c.clicked_at
FROM STREAM(ads) AS a WATERMARK shown_at DELAY OF INTERVAL 2 HOURS
JOIN STREAM(clicks) AS c WATERMARK clicked_at DELAY OF INTERVAL 3 HOURS
ON a.ad = c.ad AND c.clicked_at BETWEEN a.shown_at AND a.shown_at + INTERVAL 1 HOUR;
