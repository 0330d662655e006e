CREATE STREAM sales (
  id STRING, shop STRING, amount DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'shop');

-- of few values a sketch holds every one: its estimate is the truth
CREATE MATERIALIZED VIEW guessed WITH (emit = 'changes') AS
SELECT window_end,
  approx_count_distinct(shop) AS shops,
  hll_sketch_estimate(hll_sketch_agg(shop)) AS by_hll,
  theta_sketch_estimate(theta_sketch_agg(shop)) AS by_theta,
  theta_sketch_estimate(theta_difference(theta_sketch_agg(id), theta_sketch_agg(id) FILTER (WHERE shop = 'a'))) AS others,
  theta_sketch_estimate(theta_intersection(
    theta_sketch_agg(id), theta_sketch_agg(id) FILTER (WHERE amount > 5))) AS dear,
  kll_sketch_get_n_bigint(kll_sketch_agg_bigint(CAST(amount * 100 AS BIGINT))) AS amounts,
  kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(CAST(amount * 100 AS BIGINT)), 1.0) AS greatest,
  approx_top_k(length(id), 1) AS digits
FROM HOP(TABLE sales, DESCRIPTOR(made_at), INTERVAL '20' SECOND, INTERVAL '40' SECOND)
GROUP BY window_end;
