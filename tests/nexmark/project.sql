-- The queries of Nexmark, an auction site. docs/nexmark.md says how each is expressed.

CREATE STREAM persons (
  id BIGINT NOT NULL, name STRING, email STRING, city STRING, state STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '4' SECOND
) WITH (key = 'id');

CREATE STREAM auctions (
  id BIGINT NOT NULL, item STRING, initial_bid BIGINT, reserve BIGINT, made_at TIMESTAMP NOT NULL, expires TIMESTAMP,
  seller BIGINT, category BIGINT,
  WATERMARK FOR made_at AS made_at - INTERVAL '4' SECOND
) WITH (key = 'id');

CREATE STREAM bids (
  auction BIGINT NOT NULL, bidder BIGINT, price BIGINT, channel STRING, url STRING, made_at TIMESTAMP NOT NULL, extra STRING,
  WATERMARK FOR made_at AS made_at - INTERVAL '4' SECOND
) WITH (key = 'auction');

CREATE FUNCTION count_char(text STRING, letter STRING) RETURNS BIGINT
RETURN CAST(length(text) - length(replace(text, letter, '')) AS BIGINT);

-- every bid
CREATE MATERIALIZED VIEW q0 AS SELECT auction, bidder, price, made_at, extra FROM bids;

-- prices in euros
CREATE MATERIALIZED VIEW q1 AS
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(20, 3)) AS price, made_at, extra FROM bids;

-- bids on certain auctions
CREATE MATERIALIZED VIEW q2 AS SELECT auction, price FROM bids WHERE auction % 123 = 0;

-- who sells in category 10, in three states
CREATE MATERIALIZED VIEW q3 AS
SELECT p.name, p.city, p.state, a.id
FROM auctions a JOIN persons p ON a.seller = p.id AND p.made_at BETWEEN a.made_at - INTERVAL '5' MINUTE AND a.made_at
WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca');

-- the highest bid of each auction while it was open …
CREATE MATERIALIZED VIEW highest WITH (emit = 'final') AS
SELECT a.id, a.category, a.seller, a.made_at, max(b.price) AS price
FROM auctions a JOIN bids b ON a.id = b.auction AND b.made_at BETWEEN a.made_at AND a.made_at + INTERVAL '20' SECOND
WHERE b.made_at <= a.expires
GROUP BY a.id, a.category, a.seller, a.made_at;

-- … on average, by category and the minute in which the auction began
CREATE MATERIALIZED VIEW q4 WITH (emit = 'final') AS
SELECT category, window_end, avg(price) AS price
FROM TUMBLE(TABLE highest, DESCRIPTOR(made_at), INTERVAL '1' MINUTE)
GROUP BY category, window_end;

-- the auctions with the most bids, every 2 seconds for the last 10
CREATE MATERIALIZED VIEW q5 WITH (emit = 'final') AS
SELECT auction, window_start, window_end, n
FROM (
  SELECT auction, window_start, window_end, n,
    rank() OVER (PARTITION BY window_start, window_end ORDER BY n DESC) AS place
  FROM (
    SELECT auction, window_start, window_end, count(*) AS n
    FROM HOP(TABLE bids, DESCRIPTOR(made_at), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
    GROUP BY auction, window_start, window_end))
WHERE place = 1;

-- the average of the prices of a seller's last ten auctions
CREATE MATERIALIZED VIEW q6 WITH (emit = 'final', horizon = '5 minutes') AS
SELECT id, seller, made_at,
  avg(price) OVER (PARTITION BY seller ORDER BY made_at, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS price
FROM highest;

-- the highest bids of every 10 seconds
CREATE MATERIALIZED VIEW q7 WITH (emit = 'final') AS
SELECT auction, bidder, price, made_at, window_end
FROM (
  SELECT auction, bidder, price, made_at, window_end, rank() OVER (PARTITION BY window_end ORDER BY price DESC) AS place
  FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '10' SECOND))
WHERE place = 1;

-- who has come and sold something in the same 10 seconds
CREATE MATERIALIZED VIEW q8 WITH (emit = 'final') AS
SELECT p.id, p.name, p.window_start, count(*) AS auctions
FROM (SELECT id, name, window_start, window_end FROM TUMBLE(TABLE persons, DESCRIPTOR(made_at), INTERVAL '10' SECOND)) p
JOIN (SELECT seller, window_start, window_end FROM TUMBLE(TABLE auctions, DESCRIPTOR(made_at), INTERVAL '10' SECOND)) a
ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end
GROUP BY p.id, p.name, p.window_start;

-- the winning bid of each auction
CREATE MATERIALIZED VIEW q9 WITH (emit = 'final') AS
SELECT id, item, seller, begun_at, auction, bidder, price, made_at
FROM (
  SELECT a.id, a.item, a.seller, a.made_at AS begun_at, b.auction, b.bidder, b.price, b.made_at,
    row_number() OVER (PARTITION BY a.id, a.made_at ORDER BY b.price DESC, b.made_at) AS place
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.made_at BETWEEN a.made_at AND a.made_at + INTERVAL '20' SECOND
  WHERE b.made_at <= a.expires)
WHERE place = 1;

-- every bid with its day and its time, to be laid down by them
CREATE MATERIALIZED VIEW q10 AS
SELECT auction, bidder, price, made_at, date_format(made_at, 'yyyy-MM-dd') AS day, date_format(made_at, 'HH:mm') AS minute FROM bids;

-- how often a bidder bids in a session
CREATE MATERIALIZED VIEW q11 WITH (emit = 'final') AS
SELECT bidder, window_start, window_end, count(*) AS n
FROM SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end;

-- how often a bidder bids in 10 seconds of arrival
CREATE MATERIALIZED VIEW q12 AS
SELECT bidder, window_start, window_end, count(*) AS n
FROM TUMBLE(TABLE bids, DESCRIPTOR(_arrived_at), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end;

-- bids in a range of prices, with the time of day and a count of letters
CREATE MATERIALIZED VIEW q14 AS
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(20, 3)) AS price,
  CASE WHEN hour(made_at) BETWEEN 8 AND 18 THEN 'day' WHEN hour(made_at) <= 6 OR hour(made_at) >= 20 THEN 'night' ELSE 'other' END
    AS time_of_day,
  made_at, count_char(extra, 'c') AS cs
FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

-- bids, bidders and auctions of a day, by price
CREATE MATERIALIZED VIEW q15 AS
SELECT window_start, count(*) AS bids, count_if(price < 10000) AS low, count_if(price >= 1000000) AS high,
  count(DISTINCT bidder) AS bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders,
  count(DISTINCT auction) AS auctions
FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '1' DAY)
GROUP BY window_start;

-- the same by channel, with the last minute of it
CREATE MATERIALIZED VIEW q16 AS
SELECT channel, window_start, max(date_format(made_at, 'HH:mm')) AS minute, count(*) AS bids,
  count_if(price >= 1000000) AS high, count(DISTINCT bidder) AS bidders
FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '1' DAY)
GROUP BY channel, window_start;

-- the prices of each auction, by day
CREATE MATERIALIZED VIEW q17 AS
SELECT auction, window_start, count(*) AS bids, min(price) AS least, max(price) AS most, avg(price) AS mean,
  sum(price) AS total
FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '1' DAY)
GROUP BY auction, window_start;

-- the last bid of each bidder on each auction, by the minute
CREATE MATERIALIZED VIEW q18 WITH (emit = 'final') AS
SELECT auction, bidder, price, made_at, window_end
FROM (
  SELECT auction, bidder, price, made_at, window_end,
    row_number() OVER (PARTITION BY bidder, auction, window_end ORDER BY made_at DESC) AS place
  FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '1' MINUTE))
WHERE place = 1;

-- the ten highest bids on each auction, by the minute
CREATE MATERIALIZED VIEW q19 WITH (emit = 'final') AS
SELECT auction, bidder, price, made_at, window_end, place
FROM (
  SELECT auction, bidder, price, made_at, window_end,
    row_number() OVER (PARTITION BY auction, window_end ORDER BY price DESC, made_at) AS place
  FROM TUMBLE(TABLE bids, DESCRIPTOR(made_at), INTERVAL '1' MINUTE))
WHERE place <= 10;

-- bids with their auction, in category 10
CREATE MATERIALIZED VIEW q20 AS
SELECT b.auction, b.bidder, b.price, b.made_at, a.item, a.seller, a.category
FROM bids b JOIN auctions a ON b.auction = a.id AND a.made_at BETWEEN b.made_at - INTERVAL '5' MINUTE AND b.made_at + INTERVAL '5' MINUTE
WHERE a.category = 10;

-- bids with the number of their channel
CREATE MATERIALIZED VIEW q21 AS
SELECT auction, bidder, price, channel,
  CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
    WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3'
    ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bids
WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> '' OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');

-- the folders of a bid's address
CREATE MATERIALIZED VIEW q22 AS
SELECT auction, bidder, price, channel, get(split(url, '/'), 3) AS dir1, get(split(url, '/'), 4) AS dir2,
  get(split(url, '/'), 5) AS dir3
FROM bids;
