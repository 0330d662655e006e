CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop', unique = 'id');

CREATE MATERIALIZED VIEW per_shop WITH (grace = '2 seconds', emit = 'final') AS
SELECT shop, window_end, sum(amount) AS total
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
WHERE amount > 1 GROUP BY shop, window_end;

-- every column of the stream and the bounds of the window; when a row came has a name that belongs to the log
CREATE MATERIALIZED VIEW missed AS
SELECT * FROM late(per_shop);
