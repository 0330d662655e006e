CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- order is that of the log; ties in min_by go to the first row, ties in max_by to the last
CREATE MATERIALIZED VIEW ends WITH (emit = 'final') AS
SELECT window_end, first(id) AS first_id, last(id) AS last_id, first(shop) IGNORE NULLS AS first_shop,
  min_by(id, amount) AS cheapest, max_by(id, amount) AS dearest, last(amount) AS last_amount
FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '30' SECOND)
GROUP BY window_end;
