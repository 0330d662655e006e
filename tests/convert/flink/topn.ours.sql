CREATE STREAM bids (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  extra STRING,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '4' SECOND
)
WITH (connector = 'kafka', topic = 'bids');

-- Note: It was written to 'blackhole'; its changes show with `headwater watch best`.

CREATE MATERIALIZED VIEW best AS
SELECT
  auction,
  window_end,
  bidder,
  price
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY window_start, window_end, auction ORDER BY price DESC) AS place
  FROM TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MINUTE)
)
WHERE
  place <= 3;

-- Note: AVG(price) keeps its fraction here: where it is of whole numbers, Flink's is a whole number.
-- Note: AVG(price) is called avg: it had no name.

CREATE VIEW mean_price AS
SELECT
  auction,
  AVG(price) AS avg
FROM bids
GROUP BY
  auction;

-- Note: price / 100 keeps its fraction here: where both are whole numbers, write price DIV 100 for a whole number.

CREATE VIEW channels AS
SELECT
  auction,
  GET_JSON_OBJECT(extra, '$.channel') AS channel,
  price / 100 AS hundreds
FROM bids;

-- headwater check: ok
