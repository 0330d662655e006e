CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

CREATE STREAM web (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '2' SECOND
);

-- a group is final when its window ends, a row of the other stream at its own time
CREATE MATERIALIZED VIEW both AS
SELECT shop AS name, window_end AS at, count(*) AS n
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND) GROUP BY shop, window_end
UNION ALL
SELECT id, made_at, 1 AS n FROM web WHERE shop = 'a';
