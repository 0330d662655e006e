CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- settled, from panes: the last one that closes is that which ends at 60
CREATE MATERIALIZED VIEW arrivals WITH (emit = 'final') AS
SELECT window_end, count(*) AS n
FROM HOP(TABLE sales, DESCRIPTOR(_arrived_at), INTERVAL '10' SECOND, INTERVAL '50' SECOND)
GROUP BY window_end;
