CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol', unique = 'id');

-- each event has three elements, of which two are equal; its copy has none of its own
CREATE MATERIALIZED VIEW elements WITH (emit = 'final') AS
SELECT window_end, element, count(*) AS n
FROM TUMBLE(TABLE (SELECT made_at, element FROM trades LATERAL VIEW explode(array(symbol, 'x', 'x')) t AS element), DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY window_end, element;
