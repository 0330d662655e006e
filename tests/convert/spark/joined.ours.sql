CREATE STREAM ads (
  ad STRING,
  shown_at TIMESTAMP,
  WATERMARK FOR shown_at AS shown_at - INTERVAL '2' HOUR
)
WITH (connector = 'folder', path = '/data/ads', format = 'json');

CREATE STREAM clicks (
  ad STRING,
  clicked_at TIMESTAMP,
  WATERMARK FOR clicked_at AS clicked_at - INTERVAL '3' HOUR
)
WITH (connector = 'folder', path = '/data/clicks', format = 'json');

CREATE MATERIALIZED VIEW clicked AS
SELECT
  a.ad,
  a.shown_at,
  c.clicked_at
FROM ads AS a
JOIN clicks AS c
  ON a.ad = c.ad
  AND c.clicked_at BETWEEN a.shown_at AND a.shown_at + INTERVAL '1' HOUR;

-- headwater check: ok
