CREATE TABLE bids (auction BIGINT, bidder BIGINT, price BIGINT, extra STRING, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '4' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'bids', 'format' = 'json');
CREATE TABLE best (auction BIGINT, window_end TIMESTAMP(3), bidder BIGINT, price BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO best (auction, window_end, bidder, price)
SELECT auction, window_end, bidder, price FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, auction ORDER BY price DESC) AS place
  FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MINUTES))
) WHERE place <= 3;
CREATE VIEW mean_price AS SELECT auction, AVG(price) FROM bids GROUP BY auction;
CREATE VIEW channels AS SELECT auction, JSON_VALUE(extra, '$.channel') AS channel, price / 100 AS hundreds FROM bids;
