CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- sketches of ten seconds, merged into those of thirty: the sales are read once
CREATE MATERIALIZED VIEW merged WITH (emit = 'final') AS
WITH per_shop AS (
  SELECT shop, window_time, hll_sketch_agg(id) AS hll, theta_sketch_agg(id) AS theta,
    kll_sketch_agg_bigint(CAST(amount * 100 AS BIGINT)) AS kll, bitmap_construct_agg(CAST(id AS BIGINT)) AS bits
  FROM TUMBLE(TABLE sales, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
  GROUP BY shop, window_time
)
SELECT window_end, hll_sketch_estimate(hll_union_agg(hll)) AS by_hll,
  theta_sketch_estimate(theta_union_agg(theta)) AS by_theta,
  kll_sketch_get_n_bigint(kll_merge_agg_bigint(kll)) AS amounts,
  kll_sketch_get_quantile_bigint(kll_merge_agg_bigint(kll), 0.0) AS least,
  bitmap_count(bitmap_or_agg(bits)) AS exactly
FROM TUMBLE(TABLE per_shop, DESCRIPTOR(window_time), INTERVAL '30' SECOND)
GROUP BY window_end;
