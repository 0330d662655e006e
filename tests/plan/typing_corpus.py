"""What the types without a JVM are compared on, besides Spark's own examples: expressions and queries over one table.

Every line of EXPRESSIONS and QUERIES is accepted by Spark's analyzer, every line of REFUSED is not.
"""

# ruff: noqa: E501 - one expression or query a line

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater import model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS: dict[str, pa.DataType] = {
    "b": pa.bool_(),
    "ti": pa.int8(),
    "si": pa.int16(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "dec": pa.decimal128(12, 2),
    "wide": pa.decimal128(38, 18),
    "s": pa.string(),
    "bin": pa.binary(),
    "dt": pa.date32(),
    "ts": model.INSTANT,
    "ntz": pa.timestamp("us"),
    "tm": pa.time64("us"),
    "ids": pa.duration("us"),
    "iym": pa.month_day_nano_interval(),
    "v": pa.null(),
    "va": model.Variant(),
    "ai": pa.list_(pa.int32()),
    "as_": pa.list_(pa.string()),
    "aai": pa.list_(pa.list_(pa.int32())),
    "msi": pa.map_(pa.string(), pa.int32()),
    "st": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "ast": pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])),
}
"""The table `t`: a column of every type."""

SPARK_COLUMNS = """b BOOLEAN, ti TINYINT, si SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(12,2),
    wide DECIMAL(38,18), s STRING, bin BINARY, dt DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, tm TIME(6),
    ids INTERVAL DAY TO SECOND, iym INTERVAL YEAR TO MONTH, v VOID, va VARIANT, ai ARRAY<INT>, as_ ARRAY<STRING>,
    aai ARRAY<ARRAY<INT>>, msi MAP<STRING,INT>, st STRUCT<a:INT,b:STRING>, ast ARRAY<STRUCT<a:INT,b:STRING>>"""
"""The same table as Spark declares it."""

OPERATORS = ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "=", "<", "<=>", "AND", "OR", "||")
"""Each is applied to every pair of columns."""

EXPRESSIONS = r"""
coalesce(cast(1 as decimal(38,0)), cast(1 as decimal(38,18)))
cast(1 as decimal(38,0)) + cast(1 as decimal(38,18))
cast(1 as decimal(20,0)) * cast(1 as decimal(38,18))
'1' + 1
'1' + 1.5
s + dec
s / i
dt + 1
dt - s
s - dt
dt - dt
ts - ts
ts - dt
ts - s
s - ts
dt + interval '1' day
dt + ids
dt + iym
ts + iym
ts + ids
ntz + ids
ntz - ts
ids * 2
ids / 2
iym / 2
interval '1' day * 1.5
interval '1' day + ids
interval '1' day * 2
2 * interval '1' day
i / i
i / dec
dec / i
dec / 2
dec * 2
dec + 1
dec + l
dec + d
dec % i
i div i
dec div dec
iym div iym
b = s
s = bin
dt = ts
dt = s
s < i
st = st
s and b
not s
v and b
if(NULL,1,2)
v + 1
v + v
v + dt
v / v
v = v
-s
i & l
i & s
abs(s)
ti + si
ti + ti
f + i
f + l
f * f
f + d
f + dec
ti / ti
ti div ti
tm + ids
tm - tm
tm = s
i || s
bin || bin
bin || s
ai || as_
concat()
concat(ai, array(1.5))
s like i
i like s
dt like s
b || s
ceil(i)
ceil(l)
ceil(d)
ceil(f)
ceil(dec)
ceil(s)
ceil(ti)
ceil(dec,1)
ceil(d,1)
ceil(i,1)
ceil(dec,-1)
floor(3.1411, 3)
round(dec)
round(dec,1)
round(dec,-1)
round(dec,5)
round(d,2)
round(i,1)
round(s,2)
round(f)
bround(dec,1)
round(ti)
round(v)
sequence(i,l)
sequence(dt,dt)
sequence(ts,ts,interval '1' day)
sequence(dt,ts,interval '1' day)
sequence(dt,dt,iym)
sequence(dt,dt,ids)
sequence(ti,i)
sequence(ntz,ntz,ids)
extract(year from ts)
extract(month from ts)
extract(second from ts)
extract(week from dt)
extract(year from iym)
extract(month from iym)
extract(day from ids)
extract(hour from ids)
extract(minute from ids)
extract(second from ids)
extract(dow from ts)
extract(YEAROFWEEK from ts)
extract(doy from dt)
extract(second from tm)
extract(hour from tm)
extract(year from s)
extract(hour from s)
extract(second from s)
extract(days from interval '1' day)
extract(hour from dt)
time_bucket(interval '1' hour, ts)
time_bucket(interval '1' hour, ntz)
lag(i,1,l) over (order by i)
lag(l,1,i) over (order by i)
lag(s,1,i) over (order by i)
lag(i,1,'x') over (order by i)
lag(i,1,null) over (order by i)
percentile_cont(0.5) within group (order by i)
percentile_disc(0.5) within group (order by i)
percentile_cont(array(0.5)) within group (order by i)
median(ids)
median(interval '1' day)
percentile(interval '1' day, 0.5)
percentile(iym, array(0.5))
percentile_disc(0.5) within group (order by ids)
percentile_cont(0.5) within group (order by dec)
mode() within group (order by s)
sum(ts)
avg(ts)
sum(s)
sum(v)
sum(dec)
sum(f)
avg(f)
avg(s)
avg(v)
sum(interval '1' day)
avg(interval '1' day)
sum(iym)
avg(dec)
max(st)
max(ai)
min(b)
max(v)
max_by(s, i)
max_by(s, i, 2)
min_by(st, ts)
collect_set(ai)
collect_list(msi)
array_agg(st)
count(distinct msi)
histogram_numeric(i,2)
histogram_numeric(dt,2)
histogram_numeric(dec,2)
approx_percentile(dec,0.5)
approx_percentile(dt, array(0.5))
approx_percentile(s, 0.5)
approx_percentile(i, 0.5, 100)
listagg(i)
listagg(bin)
listagg(s, ',')
element_at(ai, 1)
element_at(msi,'a')
ai[0]
msi['a']
st['a']
st.a
ast.a
ast[0].b
aai[0][1]
ai[l]
ai[ti]
msi[1]
array()
array(1,2L)
array(1,'a')
array(null)
array(1, 1.5)
map()
map('a',1,'b',2.5)
map(1,null)
map(ai, 1)
struct(i, s as x, 1, i+1, st.a, ai[0])
named_struct('a', i, 'b', s)
arrays_zip(ai, as_)
nvl2(i, s, l)
nullif(i, s)
nullif(dt, ts)
nullifzero(dec)
nullifzero(s)
zeroifnull(dec)
zeroifnull(s)
zeroifnull(l)
zeroifnull(d)
nanvl(f, d)
nanvl(i, d)
nanvl(f, f)
nanvl(d, null)
nanvl(dec,dec)
decode(bin, 'utf-8')
decode(i, 1, 'a', 2, 'b')
decode(i, 1, 2, 3)
decode(s,1,'x','y')
elt(1, s, i)
elt(1, bin, bin)
elt(1, s, bin)
date_add(dt, 1)
date_add(dt, ti)
date_add(ts, 1)
date_add(s, 1)
date_add(dt, s)
dateadd(day, 1, dt)
dateadd(hour, 1, dt)
dateadd(month, 1, dt)
dateadd(day, 1, ts)
dateadd(day, 1, ntz)
timestampadd(day,1,dt)
datediff(dt, ts)
datediff(day, dt, ts)
timestampdiff(month, ts, ts)
date_diff(s, dt)
date_sub(dt, s)
date_sub(ts, 1)
uniform(1, 2)
uniform(1.5, 2)
uniform(1L, 2)
uniform(1, 2.5f)
uniform(0, 1.5D)
to_number('454', '999')
to_number('$78.12', '$99.99')
to_number('12,454.8-', '99,999.9S')
btrim(bin)
btrim(s)
lpad(bin, 2)
lpad(bin,2,bin)
lpad(s,1,bin)
lpad(i,2)
rpad(bin,3,s)
to_json(st)
to_json(ai)
to_json(msi)
to_json(va)
aggregate(ai, 0, (a,x)->a+x)
aggregate(ai, 0L, (a,x)->a+x)
aggregate(ai, 0, (a,x)->a+x, a->cast(a as string))
transform(ai, x->x+1.5)
transform(ai,(x,i)->i)
filter(ai,x->x>1)
filter(ai,(x,i)->i>0)
exists(ai,x->x>1)
forall(as_,x->length(x)>1)
transform_keys(msi,(k,v)->v)
transform_values(msi,(k,v)->k)
map_filter(msi,(k,v)->v>1)
map_zip_with(msi,msi,(k,a,b)->a||b)
zip_with(ai,as_,(a,b)->struct(a,b))
array_sort(as_,(a,b)->length(a)-length(b))
array_sort(ai)
exists(ai, x->null)
array_contains(ai, 1)
array_contains(ai, 1L)
array_contains(as_, 'x')
array_append(as_, null)
array_remove(ai, 1)
array_insert(ai, 1, 2L)
array_except(ai, array(1L))
arrays_overlap(ai, ai)
array_repeat(s, 2)
flatten(aai)
array_max(ai)
array_join(as_, ',')
array_join(ai, ',')
array_distinct(ai)
slice(ai,1,2)
get(ai,0)
sort_array(ai)
sort_array(ai, false)
shuffle(ai)
map_from_entries(ast)
map_concat(msi, map('a', 1.5))
map_contains_key(msi, 'a')
map_keys(msi)
map_entries(msi)
map_from_arrays(as_, ai)
if(b, i, l)
if(b, i, s)
case when b then i else dec end
case i when 1 then 'a' else 2 end
case when b then null end
coalesce(i, null)
coalesce(i, s)
nvl(dt, ts)
ifnull(i, 'x')
greatest(i, l, d)
least(dt, ts)
greatest(s, 'x')
i in (1, 2L, 'x')
s in ('a')
dt in ('2020-01-01')
i in (null)
i between 1 and s
dt between s and ts
i is null
b is true
b is not false
i is distinct from l
s is true
row_number() over (order by i)
rank() over (order by i)
ntile(2) over (order by i)
cume_dist() over (order by i)
nth_value(s,1) over (order by i)
count(*) over ()
sum(i) over (partition by s)
first(i) ignore nulls over (order by i)
variant_get(va,'$.a','int')
variant_get(va,'$.a')
try_variant_get(va,'$.a','array<int>')
cast(va as string)
parse_json(s)
to_variant_object(st)
schema_of_variant(va)
typeof(i)
hash(i,s)
xxhash64(ai)
assert_true(b)
raise_error('x')
current_timezone()
time(ts)
make_timestamp(2020,1,1,1,1,1.5)
make_timestamp(dt,tm)
make_timestamp_ntz(2020,1,1,1,1,1)
to_timestamp(s)
to_timestamp_ntz(s)
to_timestamp(i)
hour(s)
hour(tm)
second(ts)
date_trunc('DAY', ntz)
date_trunc('DAY', dt)
trunc(ts,'MM')
months_between(dt, s)
unix_timestamp(dt)
unix_timestamp()
from_unixtime(i)
unix_millis(ntz)
to_unix_timestamp(s)
convert_timezone('UTC', ts)
convert_timezone('UTC','CET',ntz)
last_day(s)
next_day(ts,'MON')
dayname(dt)
make_date(1,2,3)
make_dt_interval(1)
make_ym_interval(1)
make_interval(1)
date_part('second', ts)
localtimestamp()
current_time(3)
time_trunc('HOUR', tm)
time_diff('HOUR', tm, tm)
to_time(s)
time_from_seconds(1)
time_to_seconds(tm)
interval '1' day
interval 1 day
interval '1-2' year to month
interval '1 02:03:04' day to second
interval 1 day 2 hours
interval 1 month
interval 1 week
interval '1' minute
interval '1:30' hour to minute
interval 1 year 2 months
interval 5 milliseconds
interval '5 days 3 hours'
interval '1 year'
date'2020-01-01'
timestamp'2020-01-01 00:00:00'
timestamp_ntz'2020-01-01 00:00:00'
X'1F'
1L
1Y
1S
1.5
1.50
0.5
1e3
1.5BD
1.5F
1.5D
12345678901
12345678901234567890
-5
true
null
'a'
'a' 'b'
100BD
1e3BD
.5
5.
"""
"""One expression a line, over the columns of `t`."""

QUERIES = r"""
SELECT * FROM t
SELECT t.* FROM t
SELECT t.i, t.st.a, st.b FROM t
SELECT x.i AS k, x.s FROM t AS x
SELECT i + 1 AS n, n * 2 AS m FROM t
SELECT s, sum(i) AS total, count(*) AS c FROM t GROUP BY s
SELECT s AS k, avg(dec) FROM t GROUP BY k HAVING count(*) > 1
SELECT a.i, b.l FROM t AS a JOIN t AS b ON a.i = b.i
SELECT * FROM (SELECT i, s FROM t) AS a JOIN (SELECT i, l FROM t) AS b USING (i)
SELECT i, s, l FROM (SELECT i, s FROM t) AS a LEFT JOIN (SELECT i, l FROM t) AS b USING (i)
SELECT * FROM (SELECT i FROM t) AS a LEFT SEMI JOIN (SELECT i, s FROM t) AS b ON a.i = b.i
SELECT * FROM (SELECT i FROM t) AS a LEFT ANTI JOIN (SELECT i, s FROM t) AS b ON a.i = b.i
SELECT * FROM (SELECT i FROM t) AS a CROSS JOIN (SELECT s FROM t) AS b
SELECT a.i, b.s FROM (SELECT i FROM t) AS a, (SELECT s FROM t) AS b
WITH x AS (SELECT i, dec FROM t), y AS (SELECT i, sum(dec) AS total FROM x GROUP BY i) SELECT total / 2 AS half FROM y
WITH x(a, b) AS (SELECT i, s FROM t) SELECT b, a FROM x
SELECT i FROM t UNION ALL SELECT l FROM t
SELECT i, s FROM t UNION SELECT dec, 'x' FROM t
SELECT dt FROM t UNION ALL SELECT ts FROM t
SELECT i FROM t EXCEPT SELECT ti FROM t
SELECT i FROM t INTERSECT SELECT dec FROM t
SELECT i FROM t UNION ALL SELECT s FROM t
SELECT explode(ai) FROM t
SELECT s, explode(ai) AS e FROM t
SELECT i FROM t WHERE i IN (SELECT l FROM t)
SELECT i FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.l = a.i)
SELECT i FROM t WHERE (i, s) IN (SELECT l, s FROM t)
SELECT row_number() OVER (PARTITION BY s ORDER BY ts) AS n, lag(dec) OVER (PARTITION BY s ORDER BY ts) AS p FROM t
SELECT sum(dec) OVER (PARTITION BY s ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS r FROM t
SELECT avg(i) OVER w AS a, count(*) OVER w AS c FROM t WINDOW w AS (PARTITION BY s ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
SELECT first_value(s) IGNORE NULLS OVER (ORDER BY ts) AS f FROM t
SELECT s, count(DISTINCT i) AS d, sum(i) FILTER (WHERE b) AS f FROM t GROUP BY s
SELECT s, listagg(s, ',') WITHIN GROUP (ORDER BY i) AS x FROM t GROUP BY s
SELECT s, collect_list(struct(i, ts)) AS xs FROM t GROUP BY s
SELECT s, max_by(struct(i, dec AS price), ts) AS newest FROM t GROUP BY s
SELECT s, i, sum(d) FROM t GROUP BY s, i WITH ROLLUP
SELECT s, i, grouping_id(), sum(d) FROM t GROUP BY GROUPING SETS ((s), (i))
SELECT s, grouping(s), count(*) FROM t GROUP BY CUBE (s)
SELECT DISTINCT s, i FROM t
SELECT msi, count(*) FROM t GROUP BY msi
SELECT i FROM t GROUP BY i HAVING i
SELECT CASE WHEN i > 1 THEN dec ELSE 0 END AS c FROM t
SELECT transform(ast, x -> x.a + 1) AS xs FROM t
SELECT aggregate(ast, 0L, (n, x) -> n + x.a) AS total FROM t
SELECT filter(map_entries(msi), e -> e.value > 1) AS es FROM t
SELECT zip_with(ai, as_, (x, y) -> named_struct('n', x, 'c', y)) AS z FROM t
SELECT from_json(s, 'a INT, b ARRAY<STRUCT<c: STRING>>').b[0].c AS c FROM t
SELECT date_trunc('HOUR', ts) AS h, ts - INTERVAL '5' MINUTE AS e, dt + INTERVAL '1' DAY AS n FROM t
SELECT CAST(ts AS DATE) AS d, ts::DATE AS d2, TRY_CAST(s AS DECIMAL(10, 2)) AS m FROM t
SELECT i FROM t WHERE s LIKE 'a%' AND ts BETWEEN '2020-01-01' AND '2021-01-01' OR NOT b
SELECT timestampdiff(MINUTE, ts, ntz) AS m, dateadd(HOUR, 2, ts) AS h, datediff(DAY, dt, ts) AS d FROM t
SELECT wide * wide AS p, wide / 3 AS q, dec * 1.5 AS r, dec / 7 AS s, -dec AS n, dec % 3 AS m, wide + 1 AS o FROM (SELECT dec, CAST(dec AS DECIMAL(38, 18)) AS wide FROM t)
SELECT sum(dec) / count(*) AS mean, sum(i) / count(*) AS m2, sum(d) / 2 AS m3, 100 * sum(dec) / sum(sum(dec)) OVER () AS share FROM t
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY d) AS p FROM t
SELECT `i` AS `a b`, t.`s` FROM t
SELECT * EXCEPT (v, va) FROM (SELECT i, s, v, va FROM t)
SELECT i FROM t QUALIFY row_number() OVER (PARTITION BY s ORDER BY ts DESC) = 1
"""
"""One query a line, of a view or of a statement."""

VIEWS = r"""
SELECT s, max(ts) FROM t GROUP BY 1
SELECT k, e FROM (SELECT s AS k, ai FROM t) LATERAL VIEW explode(ai) x AS e
SELECT k, p, e FROM (SELECT s AS k, ai FROM t) LATERAL VIEW OUTER posexplode(ai) x AS p, e
SELECT t2.x FROM t, LATERAL (SELECT t.i + 1 AS x) AS t2
SELECT k, e FROM t LATERAL VIEW explode(msi) x AS k, e
SELECT x.a, x.b FROM t LATERAL VIEW inline(ast) x AS a, b
SELECT n, c FROM t LATERAL VIEW stack(2, 1, 'a', 2, 'b') x AS n, c
SELECT x.a, x.b FROM t LATERAL VIEW json_tuple(s, 'a', 'b') x AS a, b
"""
"""What only views have."""

STATEMENTS = r"""
SELECT s, max(ts) FROM t GROUP BY 1 ORDER BY 2
i in (select 1)
SELECT NULL AS n UNION ALL SELECT 1
SELECT * FROM VALUES (1, 'a'), (2L, NULL) AS v(n, s)
SELECT * FROM VALUES (1.5), (2)
SELECT i, (SELECT max(l) FROM t) AS m FROM t
SELECT s FROM t ORDER BY i DESC LIMIT 3
SELECT ast[0].a AS x, ast.b AS ys, st.* FROM t
SELECT struct(*) AS r FROM (SELECT i, s FROM t)
SELECT to_json(struct(*)) AS j FROM t
"""
"""What only statements have."""

REFUSED = r"""
'1' + '2'
s / s
dt + s
s + dt
b = i
ts = i
ai = as_
msi = msi
va = va
i and b
s and s
if(s, 1, 2)
case when s then 1 end
case when NULL then 1 end
-b
~s
s & s
i + b
ai || aai
sequence(dec,dec)
sequence(d,d)
extract(hours from interval '1' day)
time_bucket(interval '1' day, dt)
time_bucket(interval '1' month, dt)
time_bucket(ids, ts, ts)
percentile_disc(0.5) within group (order by dt)
sum(b)
sum(dt)
max(msi)
max_by(s, msi)
collect_set(msi)
element_at(ai, l)
element_at(msi, 1)
element_at(ai, s)
ai[s]
va[0]
va['a']
array(1, true)
map(msi, 1)
arrays_zip(st.a, ai)
date_add(dt, l)
date_add(dt, 1.5)
to_json(i)
aggregate(ai, 0, (a,x)->a+1.5)
aggregate(ai, 0.0, (a,x)->a+x)
filter(ai, x->x)
transform(i, x->x)
array_contains(ai, null)
array_position(ai, 1.5)
array_append(ai, 1.5)
array_union(ai, array(1.5))
array_contains(ai, 'x')
array_append(ai, 'x')
array_contains(msi, 1)
flatten(ai)
array_max(array(msi))
map_from_entries(ai)
map_contains_key(msi, 1)
greatest(i, s)
i in (true)
i in (ai)
interval 1 month 1 day
foo(i)
abs()
abs(i, i)
substring(s)
nope
t.nope
st.nope
ai.nope
sum(ai)
upper(ai)
upper(msi)
year(i)
hour(i)
explode(i)
size(s)
map_keys(ai)
i like ai
ts + i
ts + ts
ts * 2
dt * 2
ids + dt + 's'
ids = s
ids = iym
ids + iym
s || ai
not i
i or b
cast(dt as int)
cast(b as date)
cast(ai as int)
cast(i as array<int>)
cast(msi as string) + ai
coalesce(i, ai)
coalesce(b, i)
nvl(ts, i)
if(b, ai, msi)
case when b then i else ai end
case i when 'x' then 1 when true then 2 end
round(s, i)
lag(i, i) over (order by i)
percentile(i, d)
from_unixtime(ts)
array_join(i, ',')
transform(ai, x -> x.a)
exists(ai, x -> x + 1)
aggregate(ai, '', (a, x) -> a + x)
json_tuple(i, 'a')
stack(2, 1, 'a', 'b', 2)
max(va)
row_number() over (order by msi)
sum(i) over (partition by msi)
bit_and(d)
date_add(ai, 1)
make_date('a', ai, 1)
named_struct(s, 1)
element_at(i, 1)
map_from_arrays(ai, i)
count_if(i)
bool_and(i)
corr(s, ai)
i between b and 2
i in (select s, i from t)
concat(ai, i)
greatest(i)
greatest(msi, msi)
array(ai, i)
map(1)
is_variant_null(s)
variant_get(s, '$.a', 'int')
parse_json(i)
unix_millis(s)
unix_date(ts)
timestamp_millis(s)
sequence(s, s)
sequence(dt, dt, i)
extract(fortnight from ts)
date_part(s, ts)
datediff(fortnight, ts, ts)
SELECT i FROM t WHERE i
SELECT i FROM t WHERE s
SELECT a.i FROM t AS a JOIN t AS b ON a.i
SELECT i FROM t AS a JOIN t AS b ON a.l = b.l
SELECT va, count(*) FROM t GROUP BY va
SELECT DISTINCT msi FROM t
SELECT i FROM t ORDER BY msi
SELECT i, s FROM t UNION ALL SELECT i FROM t
SELECT i FROM t UNION ALL SELECT ai FROM t
SELECT b FROM t UNION ALL SELECT i FROM t
SELECT x.i FROM t
SELECT * FROM t AS a JOIN t AS b USING (nope)
SELECT e FROM t LATERAL VIEW explode(i) x AS e
SELECT y FROM (SELECT i AS x FROM t)
WITH x AS (SELECT i FROM t) SELECT l FROM x
"""
"""One expression or query a line that Spark's analyzer refuses, as it stands or for its types."""


@contextmanager
def analyzed_table(spark: SparkSession) -> Iterator[None]:
    """Lets Spark know the table `t`, without rows."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    declared = ", ".join(part for part in SPARK_COLUMNS.split(", ") if part != "v VOID")
    empty = spark.createDataFrame([], declared).selectExpr("*", "NULL AS v")
    empty.select(*COLUMNS).createOrReplaceTempView("t")
    try:
        yield
    finally:
        spark.catalog.dropTempView("t")
        spark.conf.unset("spark.sql.timeType.enabled")


def lines(block: str) -> list[str]:
    """The lines of a block."""
    return [line for line in block.splitlines() if line]
