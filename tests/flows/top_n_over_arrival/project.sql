CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the longest under way of those that arrived together, though their event time is older than any slice reaches back
CREATE MATERIALIZED VIEW slowest WITH (emit = 'final') AS
SELECT window_end, place, id, made_at FROM (
  SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY made_at) AS place
  FROM TUMBLE(TABLE sales, DESCRIPTOR(_arrived_at), INTERVAL '10' SECOND))
WHERE place <= 2;
