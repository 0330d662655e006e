CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW bigger WITH (grace = '2 seconds') AS
SELECT id, shop, made_at, count(*) OVER lately AS n FROM sales WHERE amount > 1
WINDOW lately AS (PARTITION BY shop ORDER BY made_at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW);

-- an event that is turned away where copies are known is late, and so is each copy of it
CREATE MATERIALIZED VIEW missed AS
SELECT id, shop, _watermark AS came_at FROM late(bigger);
