-- the log keeps no TIME, and expressions have it
CREATE STREAM visits (
  id STRING, opens STRING, made_at TIMESTAMP NOT NULL, WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'id');

CREATE MATERIALIZED VIEW openings AS
SELECT window_end, hour(to_time(opens)) AS opens_at, CAST(min(to_time(opens)) AS STRING) AS first,
  CAST(max(to_time(opens) + INTERVAL '30' MINUTE) AS STRING) AS closes, count_if(to_time(opens) < TIME'09:00:00') AS early,
  count_if(CAST(opens AS TIME) >= make_time(12, 0, 0)) AS afternoon
FROM TUMBLE(TABLE visits, DESCRIPTOR(made_at), INTERVAL '1' MINUTE)
WHERE opens IS NOT NULL
GROUP BY window_end, hour(to_time(opens));
