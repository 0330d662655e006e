-- q0
SELECT auction, bidder, price, made_at, extra FROM bids;
-- q1
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(20, 3)) AS price, made_at, extra FROM bids;
-- q2
SELECT auction, price FROM bids WHERE auction % 123 = 0;
-- q3
SELECT p.name, p.city, p.state, a.id
FROM auctions a JOIN persons p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca');
-- q4
SELECT category, time_bucket(INTERVAL '1' MINUTE, made_at) + INTERVAL '1' MINUTE AS window_end, avg(price) AS price
FROM (
  SELECT a.id, a.category, a.made_at, max(b.price) AS price
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.made_at BETWEEN a.made_at AND a.expires GROUP BY ALL)
GROUP BY ALL;
-- q5
SELECT auction, window_end - INTERVAL '10' SECOND AS window_start, window_end, count(*) AS n
FROM (
  SELECT auction, unnest(list_transform(range(1, 6), lambda k:
    time_bucket(INTERVAL '2' SECOND, made_at) + k * INTERVAL '2' SECOND)) AS window_end FROM bids)
GROUP BY auction, window_end QUALIFY rank() OVER (PARTITION BY window_end ORDER BY count(*) DESC) = 1;
-- q6
SELECT id, seller, made_at, avg(price) OVER (PARTITION BY seller ORDER BY made_at, id ROWS 9 PRECEDING) AS price
FROM (
  SELECT a.id, a.seller, a.made_at, max(b.price) AS price
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.made_at BETWEEN a.made_at AND a.expires GROUP BY ALL);
-- q7
SELECT auction, bidder, price, made_at, time_bucket(INTERVAL '10' SECOND, made_at) + INTERVAL '10' SECOND AS window_end
FROM bids QUALIFY rank() OVER (PARTITION BY time_bucket(INTERVAL '10' SECOND, made_at) ORDER BY price DESC) = 1;
-- q8
SELECT p.id, p.name, time_bucket(INTERVAL '10' SECOND, p.made_at) AS window_start, count(*) AS auctions
FROM persons p JOIN auctions a
ON p.id = a.seller AND time_bucket(INTERVAL '10' SECOND, p.made_at) = time_bucket(INTERVAL '10' SECOND, a.made_at)
GROUP BY ALL;
-- q9
SELECT a.id, a.item, a.seller, a.made_at AS begun_at, b.auction, b.bidder, b.price, b.made_at
FROM auctions a JOIN bids b ON a.id = b.auction AND b.made_at BETWEEN a.made_at AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.made_at) = 1;
-- q10
SELECT auction, bidder, price, made_at, strftime(made_at, '%Y-%m-%d') AS day, strftime(made_at, '%H:%M') AS minute FROM bids;
-- q11
SELECT bidder, min(made_at) AS window_start, max(made_at) + INTERVAL '10' SECOND AS window_end, count(*) AS n
FROM (
  SELECT bidder, made_at, count(*) FILTER (WHERE gap > INTERVAL '10' SECOND) OVER (PARTITION BY bidder ORDER BY made_at) AS session
  FROM (SELECT bidder, made_at, made_at - lag(made_at) OVER (PARTITION BY bidder ORDER BY made_at) AS gap FROM bids))
GROUP BY bidder, session;
-- q12
SELECT bidder, time_bucket(INTERVAL '10' SECOND, arrived_at) AS window_start,
  time_bucket(INTERVAL '10' SECOND, arrived_at) + INTERVAL '10' SECOND AS window_end, count(*) AS n
FROM bids GROUP BY ALL;
-- q14
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(20, 3)) AS price,
  CASE WHEN hour(made_at) BETWEEN 8 AND 18 THEN 'day' WHEN hour(made_at) <= 6 OR hour(made_at) >= 20 THEN 'night' ELSE 'other' END
    AS time_of_day,
  made_at, len(regexp_extract_all(extra, 'c')) AS cs
FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
-- q15
SELECT time_bucket(INTERVAL '1' DAY, made_at) AS window_start, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low, count(*) FILTER (WHERE price >= 1000000) AS high,
  count(DISTINCT bidder) AS bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders,
  count(DISTINCT auction) AS auctions
FROM bids GROUP BY ALL;
-- q16
SELECT channel, time_bucket(INTERVAL '1' DAY, made_at) AS window_start, max(strftime(made_at, '%H:%M')) AS minute,
  count(*) AS bids, count(*) FILTER (WHERE price >= 1000000) AS high, count(DISTINCT bidder) AS bidders
FROM bids GROUP BY ALL;
-- q17
SELECT auction, time_bucket(INTERVAL '1' DAY, made_at) AS window_start, count(*) AS bids, min(price) AS least,
  max(price) AS most, avg(price) AS mean, sum(price) AS total
FROM bids GROUP BY ALL;
-- q18
SELECT auction, bidder, price, made_at, time_bucket(INTERVAL '1' MINUTE, made_at) + INTERVAL '1' MINUTE AS window_end
FROM bids
QUALIFY row_number() OVER (PARTITION BY bidder, auction, time_bucket(INTERVAL '1' MINUTE, made_at) ORDER BY made_at DESC) = 1;
-- q19
SELECT auction, bidder, price, made_at, time_bucket(INTERVAL '1' MINUTE, made_at) + INTERVAL '1' MINUTE AS window_end,
  row_number() OVER (PARTITION BY auction, time_bucket(INTERVAL '1' MINUTE, made_at) ORDER BY price DESC, made_at) AS place
FROM bids QUALIFY place <= 10;
-- q20
SELECT b.auction, b.bidder, b.price, b.made_at, a.item, a.seller, a.category
FROM bids b JOIN auctions a ON b.auction = a.id WHERE a.category = 10;
-- q21
SELECT auction, bidder, price, channel,
  CASE channel WHEN 'Apple' THEN '0' WHEN 'Google' THEN '1' WHEN 'Facebook' THEN '2' WHEN 'Baidu' THEN '3'
    ELSE regexp_extract(url, '&channel_id=([^&]*)', 1) END AS channel_id
FROM bids WHERE channel IN ('Apple', 'Google', 'Facebook', 'Baidu') OR contains(url, '&channel_id=');
-- q22
SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
  split_part(url, '/', 6) AS dir3
FROM bids;
