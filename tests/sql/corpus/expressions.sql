CREATE VIEW expressions AS
SELECT a + b * -c AS x, (a + b) * c AS y, a % 2 AS z, a DIV 2 AS d, NOT a AND b OR c AS l, a || b AS t, a <=> b AS same,
  CASE a WHEN 1 THEN 'one' ELSE 'other' END AS k, CASE WHEN a > 1 THEN 2 END AS w, a BETWEEN 1 AND 2 AS r, a IS NOT NULL AS nn,
  a NOT IN (1, 2) AS ni, a LIKE '%x\\_' AS li, a RLIKE '^x+$' AS rl, a ILIKE 'X' AS il, if(a, b, c) AS i
FROM t;

CREATE VIEW literals AS
SELECT 1 AS a, 1.5 AS b, 1e3 AS c, 10L AS d, 1.5D AS e, 2.5BD AS f, 'it''s' AS g, "two \"words\"" AS h, r'raw\n' AS i, X'1F' AS j,
  TRUE AS k, NULL AS l, DATE '2026-01-01' AS m, TIMESTAMP '2026-01-01 10:00:00' AS n, INTERVAL '1-2' YEAR TO MONTH AS o, 3Y AS p, 4S AS q, 0.5F AS r
FROM t;

CREATE VIEW nested AS
SELECT s.a.b AS x, arr[0] AS y, m['k'] AS z, named_struct('a', 1, 'b', 'x') AS n, array(1, 2) AS a, map('k', 1) AS mm, struct(a, b) AS st,
  transform(arr, x -> x + 1) AS tr, aggregate(arr, 0, (acc, x) -> acc + x) AS ag, filter(arr, (x, i) -> i > 0) AS fi, element_at(arr, 1) AS el
FROM t;

CREATE VIEW casts AS
SELECT CAST(a AS DECIMAL(10, 2)) AS d, TRY_CAST(b AS INT) AS i, c::STRING AS s, CAST(d AS ROW<x INT>) AS r, CAST(e AS TIMESTAMP_NTZ) AS n,
  extract(HOUR FROM at) AS h, date_trunc('HOUR', at) AS tr, to_timestamp(x, 'yyyy-MM-dd HH:mm:ss') AS ts, date_format(at, 'yyyy-MM') AS m,
  convert_timezone('UTC', 'Europe/Berlin', at) AS local, TIME '10:00:00' AS noon
FROM t;

CREATE VIEW aggregates AS
SELECT count(*) AS n, count(DISTINCT a) AS d, sum(DISTINCT a) AS sd, approx_count_distinct(a) AS ap, max_by(a, b) AS mb, collect_list(a) AS cl,
  collect_set(a) AS cs, percentile(a, 0.5) AS p, percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS pc, any_value(a) AS av, bool_or(b) AS bo,
  count_if(a > 1) AS ci, listagg(a, ',') WITHIN GROUP (ORDER BY b) AS la, sum(a) FILTER (WHERE b) AS sf, stddev(a) AS sdv, mode(a) AS mo
FROM t GROUP BY GROUPING SETS ((x, y), (x), ());

CREATE VIEW ordered AS SELECT /* a hint of nothing */ DISTINCT a, b -- why
FROM t WHERE a > 1 ORDER BY a DESC NULLS FIRST, b LIMIT 10 OFFSET 5;

CREATE VIEW odd_names AS SELECT `order`, `a b` AS `c``d`, t.`select`, date, `timestamp`, `größe` FROM `my table` AS t;

CREATE VIEW pivoted AS SELECT * FROM t PIVOT (sum(a) AS s FOR b IN ('x' AS x, 'y' AS y));

CREATE VIEW listed AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, s), VALUES 1, 2 AS w(m);
