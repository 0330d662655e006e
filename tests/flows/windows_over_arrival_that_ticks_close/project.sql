CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- the last window is closed by a tick alone, and moves no watermark; the third row arrives when the tick before it said
CREATE MATERIALIZED VIEW arrivals WITH (emit = 'final') AS
SELECT window_start, window_end, count(*) AS n, max(made_at) AS newest
FROM TUMBLE(TABLE sales, DESCRIPTOR(_arrived_at), INTERVAL '10' SECOND)
GROUP BY window_start, window_end;
