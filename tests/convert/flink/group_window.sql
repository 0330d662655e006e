-- Written before there were window table functions.
CREATE TABLE tickets (
  `ticket` STRING,
  `queue` STRING,
  `opened` STRING,
  `opened_at` AS TO_TIMESTAMP(`opened`),
  WATERMARK FOR `opened_at` AS `opened_at` - INTERVAL '30' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'tickets', 'format' = 'json', 'scan.startup.mode' = 'latest-offset');

CREATE VIEW tickets_per_hour AS
SELECT `queue`, TUMBLE_START(`opened_at`, INTERVAL '1' HOUR) AS hour_start, COUNT(*) AS tickets
FROM tickets
GROUP BY `queue`, TUMBLE(`opened_at`, INTERVAL '1' HOUR);
