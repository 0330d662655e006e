"""Statements that are compared with Spark, over two views with columns of every type that a query computes with."""

# ruff: noqa: E501 - one statement a line

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from headwater.model import INSTANT

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def sales() -> pa.Table:
    """Rows with NULLs, NaN, −0.0, microseconds, 38 digits, instants before 1970, letters beyond ASCII."""
    columns = {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int32()),
        "tiny": pa.array([1, -2, None, 127, 0, 3], pa.int8()),
        "small": pa.array([100, -200, None, 32767, 0, 7], pa.int16()),
        "big": pa.array([2**53 + 1, -7, None, 2**62, 0, 10], pa.int64()),
        "shop": pa.array(["north", "süd", None, "north", "", "east end"], pa.string()),
        "note": pa.array(["  a b ", "50%_x", "\\", "Ärger", "a'b", None], pa.string()),
        "price": pa.array(
            [Decimal(x) if x else None for x in ("12.30", "-0.05", "", "99999999.99", "0.00", "2.675")],
            pa.decimal128(12, 3),
        ),
        "wide": pa.array(
            [
                Decimal(x) if x else None
                for x in ("12345678901234567890.12", "-0.01", "", "0.07", "99999999999999999999.99", "3.33")
            ],
            pa.decimal128(22, 2),
        ),
        "huge": pa.array(
            [
                Decimal(x) if x else None
                for x in ("0.33333333333333333333", "-1.5", "", "123456789012345678.00000000000000000001", "0", "7")
            ],
            pa.decimal128(38, 20),
        ),
        "ratio": pa.array([1.5, float("nan"), None, -0.0, float("inf"), 2.675], pa.float64()),
        "part": pa.array([0.1, -2.5, None, 3.0, 0.0, 16777217.0], pa.float32()),
        "ok": pa.array([True, False, None, True, False, True], pa.bool_()),
        "day": pa.array(
            [date(2026, 1, 31), date(2024, 2, 29), None, date(1969, 12, 31), date(2026, 12, 31), date(2025, 3, 30)],
            pa.date32(),
        ),
        "at": pa.array(
            [
                NOON,
                datetime(2024, 2, 29, 23, 59, 59, 999999, UTC),
                None,
                datetime(1969, 12, 31, 23, 59, 58, 250000, UTC),
                datetime(2026, 12, 31, tzinfo=UTC),
                datetime(2025, 3, 30, 1, 30, 0, 125, UTC),
            ],
            INSTANT,
        ),
        "local": pa.array(
            [
                datetime(2026, 1, 31, 12),
                None,
                datetime(2024, 2, 29, 1, 2, 3, 4),
                datetime(1969, 12, 31),
                datetime(2026, 1, 1),
                datetime(2025, 3, 30, 2, 30),
            ],
            pa.timestamp("us"),
        ),
        "took": pa.array(
            [
                timedelta(hours=1),
                timedelta(microseconds=-1),
                None,
                timedelta(days=40),
                timedelta(0),
                timedelta(seconds=90),
            ],
            pa.duration("us"),
        ),
        "data": pa.array([b"\x00\xff", b"", None, b"abc", b"a", b"\x7f"], pa.binary()),
        "tags": pa.array([["a", None], [], None, ["b", "a"], ["c"], [None]], pa.list_(pa.string())),
        "counts": pa.array(
            [[("a", 1)], [], None, [("b", None), ("a", 2)], [("c", 3)], [("", 0)]], pa.map_(pa.string(), pa.int32())
        ),
        "place": pa.array(
            [
                {"x": 1, "y": "a"},
                {"x": None, "y": "b"},
                None,
                {"x": 3, "y": None},
                {"x": 0, "y": ""},
                {"x": 5, "y": "z"},
            ],
            pa.struct([("x", pa.int32()), ("y", pa.string())]),
        ),
    }
    return pa.table(columns)


def limits() -> pa.Table:
    """A second view, that shares a column of the first."""
    return pa.table(
        {
            "shop": pa.array(["north", "süd", "west", None], pa.string()),
            "most": pa.array([Decimal("10.00"), Decimal("5.50"), None, Decimal("1.00")], pa.decimal128(10, 2)),
            "id": pa.array([1, 2, 7, 8], pa.int64()),
        }
    )


EXPRESSIONS = r"""
price + 1
price + wide
price - 0.5
price * price
price * 2
price / 3
price / wide
wide / 7
huge + huge
huge * 2
price % 2
price % 0.07
-price
abs(price)
id + tiny
tiny + 1
id * small
big + 1
id / 2
id DIV 2
big DIV 3
price DIV 2
big % 3
-big % 3
id & 3
id | 8
id ^ 5
ratio * 2
ratio + price
ratio - id
part * 2
part + price
2.5 * id
1e3 + id
1.10 + 2.2
100 * 1.5
'5' + id
price = 12.3
price > 12
price >= '2.675'
wide = 3.33
id = 2.0
id = '2'
big > price
ratio > 1
ratio = ratio
ratio = price
shop = 'north'
shop < 'süd'
shop <=> NULL
shop IS DISTINCT FROM 'north'
ok AND id > 2
ok OR NOT ok
NOT ok
shop IS NULL
shop IS NOT NULL
ok IS TRUE
ok IS NOT FALSE
id IN (1, 3, NULL)
shop IN ('north', 'east end')
price IN (12.3, 0)
id NOT IN (1, 2)
price BETWEEN 0 AND 12.3
id NOT BETWEEN 2 AND 4
at BETWEEN '2024-01-01' AND '2026-01-31 12:00:00'
at > '2025'
at >= TIMESTAMP '2026-01-31 13:00:00+01:00'
at < '2026-02'
day = '2026-01-31'
day > DATE '2024-02-29'
day < at
local >= '2026-01-01 00:00:00'
shop LIKE 'n%'
note LIKE '50\\%%'
note LIKE '%\\_x'
note LIKE '50!%%' ESCAPE '!'
shop ILIKE 'NORTH'
note NOT LIKE '%a%'
CASE WHEN id > 3 THEN price ELSE 0 END
CASE id WHEN 1 THEN 'one' WHEN 2 THEN 'two' END
CASE WHEN ok THEN id ELSE big END
CASE WHEN ok THEN 1 WHEN NOT ok THEN 2.5 END
if(ok, id, tiny)
if(ok, price, wide)
coalesce(shop, note, 'none')
coalesce(tiny, big)
coalesce(price, 0)
nvl(shop, 'x')
ifnull(price, wide)
nvl2(shop, id, -1)
nullif(id, 2)
nullif(price, 0)
nullif(shop, '')
greatest(id, tiny, 3)
greatest(price, wide)
least(shop, note)
least(ratio, 1)
greatest(ratio, 1.5)
isnull(shop)
isnotnull(shop)
isnan(ratio)
abs(id - 4)
abs(ratio)
sign(price)
sign(id)
ceil(price)
ceil(ratio) FROM sales WHERE id IN (1, 4, 6)
floor(price)
floor(-2.5)
floor(wide)
ceil(id)
round(price, 1)
round(price, 2)
round(price)
round(wide, 1)
round(ratio, 2)
round(2.675, 2)
round(2.5)
round(-2.5)
round(id, 2)
round(part, 1)
pmod(id - 4, 3)
sqrt(id)
sqrt(-1)
upper(shop)
lower(note)
length(shop)
length(data)
char_length(note)
octet_length(shop)
trim(note)
ltrim(note)
rtrim(note)
trim(BOTH 'n' FROM shop)
trim(LEADING 'n' FROM shop)
trim(TRAILING 'h' FROM shop)
btrim(shop, 'nh')
ltrim('n', shop)
substring(shop, 2, 3)
substring(shop, 0, 2)
substring(shop, -3, 2)
substring(shop, -10, 6)
substring(shop, 2)
substring(shop FROM 2 FOR 2)
substr(shop, 3)
left(shop, 2)
right(shop, 2)
left(shop, -1)
right(shop, 0)
concat(shop, '-', id)
concat(shop, NULL)
shop || note
shop || price
shop || ok
shop || day
shop || at
concat_ws('-', shop, note, 'x')
concat_ws(',', shop, id)
replace(shop, 'o', '0')
replace(shop, 'north')
replace(shop, '', 'x')
reverse(shop)
repeat(shop, 2)
repeat(shop, -1)
lpad(shop, 7, '*')
lpad(shop, 3, '*')
rpad(shop, 7)
rpad(shop, 7, 'ab')
lpad(shop, 0, '*')
lpad(shop, 8, '')
instr(shop, 'o')
instr(shop, '')
locate('t', shop)
position('h' IN shop)
startswith(shop, 'no')
endswith(shop, 'th')
contains(shop, 'or')
split_part(shop, 'o', 2)
split_part(shop, 'o', 5)
ascii(shop)
hex(shop)
hex(data)
date_trunc('hour', at)
date_trunc('DAY', at)
date_trunc('week', at)
date_trunc('month', at)
date_trunc('quarter', at)
date_trunc('year', at)
date_trunc('minute', at)
date_trunc('second', at)
date_trunc('millisecond', at)
date_trunc('day', local)
date_trunc('month', day)
trunc(day, 'month')
trunc(day, 'week')
trunc(day, 'quarter')
year(at)
quarter(at)
month(at)
day(at)
dayofmonth(day)
dayofyear(day)
dayofweek(day)
weekday(day)
weekofyear(day)
hour(at)
minute(at)
second(at)
hour(local)
extract(YEAR FROM at)
extract(DOW FROM day)
extract(WEEK FROM day)
extract(SECOND FROM at)
extract(MINUTE FROM local)
date_part('month', day)
date_add(day, 1)
date_sub(day, 31)
datediff(day, '2026-01-01')
datediff(at, day)
add_months(day, 1)
add_months(day, -12)
last_day(day)
day + 1
day - 1
day + INTERVAL 1 DAY
day - INTERVAL '2' WEEK
day + INTERVAL 3 HOUR
day + INTERVAL 1 MONTH
at + INTERVAL 90 MINUTES
at - INTERVAL '1 02:03:04.5' DAY TO SECOND
at + INTERVAL 1 MONTH
at - INTERVAL 1 YEAR
INTERVAL 1 HOUR + at
local + INTERVAL 1 DAY
local - INTERVAL 1 MONTH
at + took
day - DATE '2026-01-01'
at - TIMESTAMP '2026-01-01'
at - day
local - TIMESTAMP_NTZ '2024-01-01'
took + INTERVAL 1 SECOND
took - took
took * 2
took > INTERVAL 1 MINUTE
INTERVAL 1 DAY
date_format(at, 'yyyy-MM-dd HH:mm:ss')
date_format(day, 'dd.MM.yyyy')
to_date(at)
to_date('2026-01-31')
date(at)
to_timestamp('2026-01-31 10:00:00')
unix_micros(at)
unix_millis(at)
unix_seconds(at)
timestamp_seconds(id)
timestamp_millis(big % 1000)
timestamp_micros(id)
CAST(price AS INT)
CAST(-price AS INT)
CAST(2.5 AS INT)
CAST(ratio AS INT) FROM sales WHERE id IN (1, 4, 6)
CAST(-2.7D AS BIGINT)
CAST(price AS DOUBLE)
CAST(wide AS DOUBLE)
CAST(huge AS DOUBLE)
CAST(huge AS FLOAT)
CAST(price AS DECIMAL(12, 2))
CAST(price AS DECIMAL(11, 1))
CAST(wide AS DECIMAL(38, 10))
CAST(ratio AS DECIMAL(10, 2)) FROM sales WHERE id IN (1, 4, 6)
CAST(part AS DOUBLE)
CAST(part AS DECIMAL(20, 5))
CAST(id AS DECIMAL(10, 2))
CAST(id AS STRING)
CAST(price AS STRING)
CAST(huge AS STRING)
CAST(ok AS STRING)
CAST(ok AS INT)
CAST(id AS BOOLEAN)
CAST(ratio AS STRING)
CAST(part AS STRING) FROM sales WHERE id < 6
CAST(day AS STRING)
CAST(at AS STRING)
CAST(local AS STRING)
CAST(day AS TIMESTAMP)
CAST(at AS DATE)
CAST(at AS TIMESTAMP_NTZ)
CAST(local AS TIMESTAMP)
CAST(at AS BIGINT)
CAST(at AS DOUBLE)
CAST('12' AS INT)
CAST(' 12 ' AS BIGINT)
CAST('1.55' AS DECIMAL(5, 1))
CAST('1e2' AS DOUBLE)
CAST('true' AS BOOLEAN)
CAST('2026-01-31' AS DATE)
CAST('2026-01-31T12:00:00Z' AS TIMESTAMP)
CAST(shop AS BINARY)
CAST(data AS STRING) FROM sales WHERE id IN (2, 4, 5, 6)
TRY_CAST(shop AS INT)
TRY_CAST(id AS TINYINT)
TRY_CAST('300' AS TINYINT)
string(id)
int('7')
tags[0] FROM sales WHERE size(tags) > 0
element_at(tags, 1) FROM sales WHERE size(tags) > 0
element_at(tags, -1) FROM sales WHERE size(tags) > 0
size(tags)
size(counts)
cardinality(tags)
array_contains(tags, 'a')
array_contains(array(1, 2), id)
counts['a']
element_at(counts, 'a')
map_keys(counts)
map_values(counts)
place.x
place.y
place.x + 1
array(id, 2)
array(price, 1)
struct(id, shop)
negative(price)
positive(id)
signum(ratio)
ceiling(price)
ucase(shop)
lcase(shop)
character_length(shop)
len(shop)
dateadd(day, 7)
date_diff(day, '2026-01-01')
datepart('hour', at)
timestamp('2026-01-31 10:00:00')
current_date() - current_date()
current_timestamp() - now()
curdate() = current_date
array_size(tags)
bigint(id)
double(id)
float(id)
boolean(id)
smallint(id)
tinyint(id)
substring(note, 3, 1)
upper(note)
lower(shop)
concat(array(id), array(2))
tiny - tiny
small * 2
big - id
huge - huge
wide * price
price * 1.5
ratio / 3
part / 3
id * 1.05
price / 100
wide % 7
huge / 3
abs(huge)
round(huge, 3)
floor(huge)
ceil(wide)
NULL
1
-1
3000000000
99999999999999999999
1.50
'it''s'
"double"
x'1F'
TRUE
tags
counts
place
took
data
"""
"""Each is selected from `sales`, ordered by the id."""

QUERIES = r"""
SELECT * FROM sales ORDER BY id
SELECT id, price FROM sales WHERE shop = 'north' ORDER BY id DESC
SELECT sum(price) AS s, avg(price) AS a, min(price) AS l, max(price) AS h FROM sales
SELECT sum(wide) AS s, avg(wide) AS a, min(wide) AS l, max(wide) AS h FROM sales
SELECT sum(huge) AS s, min(huge) AS l, max(huge) AS h FROM sales
SELECT sum(id) AS s, avg(id) AS a, sum(tiny) AS t, avg(tiny) AS u, sum(small) AS v FROM sales
SELECT sum(ratio) AS s, max(ratio) AS h, min(ratio) AS l, avg(part) AS a FROM sales WHERE id IN (1, 4, 6)
SELECT max(ratio) AS h, min(ratio) AS l FROM sales
SELECT min(shop) AS l, max(shop) AS h, min(at) AS f, max(at) AS t, min(day) AS d, max(local) AS n, max(took) AS k, sum(took) AS g FROM sales
SELECT min(ok) AS l, max(ok) AS h, bool_and(ok) AS a, bool_or(ok) AS o, every(ok) AS e, count_if(ok) AS c FROM sales
SELECT count(*) AS n, count(shop) AS s, count(DISTINCT shop) AS d, count(shop, note) AS b, count(DISTINCT shop, ok) AS p FROM sales
SELECT count(*) AS n, sum(price) AS s, avg(price) AS a, max(shop) AS m FROM sales WHERE id > 100
SELECT sum(DISTINCT tiny) AS s, avg(DISTINCT price) AS a FROM sales
SELECT sum(price) FILTER (WHERE ok) AS s, count(*) FILTER (WHERE id > 2) AS n, avg(price) FILTER (WHERE id > 1) AS a FROM sales
SELECT max_by(shop, id) AS a, min_by(shop, id) AS b, max_by(shop, price) AS c FROM sales
SELECT mean(price) AS m, some(ok) AS s, any(ok) AS a, std(id) AS d, stddev_samp(id) AS e, var_samp(id) AS v FROM sales
SELECT id, first(shop) OVER (ORDER BY id) AS f, last(shop) OVER (ORDER BY id) AS l FROM sales ORDER BY id
SELECT avg(big) AS a, avg(huge) AS h FROM sales WHERE id > 4
SELECT stddev(id) AS a, stddev_pop(id) AS b, variance(price) AS c, var_pop(tiny) AS d FROM sales
SELECT median(id) AS a, percentile(id, 0.25) AS b, percentile(price, 0.9) AS c FROM sales
SELECT shop, count(*) AS n, sum(price) AS s FROM sales GROUP BY shop ORDER BY shop
SELECT shop AS s, ok, count(*) FROM sales GROUP BY s, ok ORDER BY 1, 2
SELECT date_trunc('year', at) AS y, sum(price) AS s FROM sales GROUP BY 1 ORDER BY 1
SELECT shop, sum(price) AS s FROM sales GROUP BY shop HAVING sum(price) > 0 ORDER BY s DESC
SELECT shop, sum(price) AS s FROM sales GROUP BY shop HAVING s > 0 ORDER BY s
SELECT shop, ok, sum(id) AS n FROM sales GROUP BY ROLLUP (shop, ok) ORDER BY shop, ok, n
SELECT shop, ok, sum(id) AS n FROM sales GROUP BY CUBE (shop, ok) ORDER BY shop, ok, n
SELECT shop, ok, sum(id) AS n FROM sales GROUP BY GROUPING SETS ((shop), (ok), ()) ORDER BY shop, ok, n
SELECT shop, count(*) AS n FROM sales GROUP BY ALL ORDER BY shop
SELECT ratio, count(*) AS n FROM (SELECT ratio FROM sales UNION ALL SELECT 0.0D UNION ALL SELECT double('NaN')) GROUP BY ratio ORDER BY ratio
SELECT ratio * 2 AS r, count(*) AS n FROM sales GROUP BY r ORDER BY r
SELECT ratio, count(*) AS n FROM sales GROUP BY 1 ORDER BY ratio
SELECT DISTINCT ratio FROM sales ORDER BY ratio
SELECT DISTINCT shop FROM sales ORDER BY shop
SELECT DISTINCT ok, shop IS NULL AS n FROM sales ORDER BY ok, n
SELECT id FROM sales ORDER BY shop, id
SELECT id FROM sales ORDER BY shop DESC, id
SELECT id FROM sales ORDER BY shop NULLS LAST, id
SELECT id FROM sales ORDER BY shop DESC NULLS FIRST, id
SELECT id FROM sales ORDER BY ratio, id
SELECT id FROM sales ORDER BY ratio DESC, id
SELECT id FROM sales ORDER BY price * 2 DESC, id
SELECT id, price * 2 AS p FROM sales ORDER BY p, id
SELECT id FROM sales ORDER BY data, id
SELECT id FROM sales ORDER BY took, id
SELECT id FROM sales ORDER BY huge DESC, id
SELECT id FROM sales ORDER BY id LIMIT 2
SELECT id FROM sales ORDER BY id LIMIT 2 OFFSET 3
SELECT id FROM sales ORDER BY id OFFSET 4
SELECT s.id, l.most FROM sales s JOIN limits l ON s.shop = l.shop ORDER BY 1
SELECT s.id, l.most FROM sales s LEFT JOIN limits l ON s.shop = l.shop ORDER BY 1
SELECT s.id, l.id AS other FROM sales s RIGHT JOIN limits l ON s.shop = l.shop ORDER BY 2, 1
SELECT s.id, l.id AS other FROM sales s FULL JOIN limits l ON s.shop = l.shop ORDER BY 2, 1
SELECT s.id, l.most FROM sales s JOIN limits l ON s.id = l.id ORDER BY 1
SELECT s.id, l.most FROM sales s JOIN limits l ON s.price > l.most ORDER BY 1, 2
SELECT s.id, l.most FROM sales s LEFT JOIN limits l ON s.shop = l.shop WHERE l.most IS NULL ORDER BY 1
SELECT s.id, l.most FROM sales s LEFT JOIN limits l ON s.shop = l.shop WHERE l.most > 5.5 ORDER BY 1
SELECT s.id, l.most FROM sales s LEFT JOIN limits l ON s.shop = l.shop AND l.most > 5.5 WHERE s.id > 1 ORDER BY 1
SELECT s.id FROM sales s LEFT SEMI JOIN limits l ON s.shop = l.shop ORDER BY 1
SELECT s.id FROM sales s LEFT ANTI JOIN limits l ON s.shop = l.shop ORDER BY 1
SELECT s.id, l.shop FROM sales s CROSS JOIN limits l ORDER BY 1, 2
SELECT s.id, l.shop FROM sales s, limits l WHERE s.id = l.id ORDER BY 1
SELECT shop, s.id, most FROM sales s JOIN limits l USING (shop) ORDER BY 2
SELECT shop, s.id, most FROM sales s FULL JOIN limits l USING (shop) ORDER BY 2, 1
SELECT s.* FROM sales s JOIN limits l ON s.shop = l.shop ORDER BY s.id
SELECT * FROM (SELECT id, shop FROM sales) s JOIN (SELECT shop AS b, most FROM limits) l ON s.shop = l.b ORDER BY id
SELECT a.id, b.id AS c FROM sales a JOIN sales b ON a.shop = b.shop AND a.id < b.id ORDER BY 1
SELECT id FROM sales WHERE shop IN (SELECT shop FROM limits) ORDER BY id
SELECT id FROM sales WHERE shop NOT IN (SELECT shop FROM limits WHERE shop IS NOT NULL) ORDER BY id
SELECT id FROM sales WHERE id IN (SELECT id FROM limits) ORDER BY id
SELECT id FROM sales s WHERE EXISTS (SELECT 1 FROM limits l WHERE l.shop = s.shop) ORDER BY id
SELECT id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM limits l WHERE l.shop = s.shop) ORDER BY id
SELECT id, (SELECT max(most) FROM limits) AS m FROM sales ORDER BY id
SELECT id, (SELECT max(most) FROM limits l WHERE l.shop = s.shop) AS m FROM sales s ORDER BY id
SELECT id FROM sales WHERE price > (SELECT avg(price) FROM sales) ORDER BY id
SELECT id, price / (SELECT sum(price) FROM sales) AS share FROM sales ORDER BY id
WITH t AS (SELECT shop, sum(price) AS s FROM sales GROUP BY shop) SELECT * FROM t WHERE s > 1 ORDER BY s
WITH t(a, b) AS (SELECT shop, id FROM sales), u AS (SELECT a FROM t WHERE b > 2) SELECT a FROM u ORDER BY a
WITH sales AS (SELECT id FROM sales WHERE id > 3) SELECT * FROM sales ORDER BY id
SELECT id FROM sales UNION ALL SELECT id FROM limits ORDER BY id
SELECT shop FROM sales UNION SELECT shop FROM limits ORDER BY shop
SELECT price FROM sales UNION ALL SELECT most FROM limits ORDER BY 1
SELECT id, NULL AS n FROM sales UNION ALL SELECT tiny, shop FROM sales ORDER BY 1, 2
SELECT shop FROM sales INTERSECT SELECT shop FROM limits ORDER BY shop
SELECT shop FROM sales EXCEPT SELECT shop FROM limits ORDER BY shop
SELECT shop FROM sales EXCEPT ALL SELECT shop FROM limits ORDER BY shop
(SELECT id FROM sales ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM limits ORDER BY id DESC LIMIT 1) ORDER BY id
SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM sales ORDER BY id
SELECT id, rank() OVER (ORDER BY shop) AS r, dense_rank() OVER (ORDER BY shop DESC) AS d FROM sales ORDER BY id
SELECT id, percent_rank() OVER (ORDER BY id) AS p, cume_dist() OVER (ORDER BY id) AS c, ntile(4) OVER (ORDER BY id) AS n FROM sales ORDER BY id
SELECT id, lag(price) OVER (ORDER BY id) AS a, lead(price, 2) OVER (ORDER BY id) AS b, lag(id, 1, 0) OVER (ORDER BY id) AS c FROM sales ORDER BY id
SELECT id, first_value(shop) OVER (PARTITION BY ok ORDER BY id) AS f, last_value(shop) OVER (PARTITION BY ok ORDER BY id) AS l FROM sales ORDER BY id
SELECT id, last_value(shop) IGNORE NULLS OVER (ORDER BY id) AS l FROM sales ORDER BY id
SELECT id, nth_value(id, 2) OVER (ORDER BY id) AS n FROM sales ORDER BY id
SELECT id, sum(price) OVER (ORDER BY id) AS s, avg(price) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM sales ORDER BY id
SELECT id, sum(id) OVER (PARTITION BY ok) AS s, count(*) OVER () AS n FROM sales ORDER BY id
SELECT id, sum(id) OVER w AS s FROM sales WINDOW w AS (PARTITION BY ok ORDER BY id) ORDER BY id
SELECT id, shop FROM sales QUALIFY row_number() OVER (PARTITION BY ok ORDER BY id DESC) = 1 ORDER BY id
SELECT id, sum(count(*)) OVER (ORDER BY id) AS s FROM sales GROUP BY id ORDER BY id
SELECT * EXCEPT (note, data) FROM sales ORDER BY id
SELECT t.id AS a, t.* FROM (SELECT id, shop FROM sales) t ORDER BY 1
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS t(n, s) ORDER BY n
SELECT * FROM (VALUES (1, 1.5), (2, 2)) AS t(n, s) ORDER BY n
SELECT id + 1 AS next, next * 2 AS twice FROM sales ORDER BY id
SELECT id FROM sales WHERE at >= '2026-01-01' AND at < '2027-01-01' AND shop IS NOT NULL ORDER BY id
SELECT id FROM sales WHERE price = 2.675 OR price IS NULL ORDER BY id
SELECT id FROM sales WHERE wide >= 3.33 AND wide < 99999999999999999999.99 ORDER BY id
SELECT id FROM sales WHERE ratio > 2 ORDER BY id
SELECT id FROM sales WHERE big IN (10, 9007199254740993) ORDER BY id
SELECT id FROM sales WHERE shop > 'f' AND shop <> 'north' ORDER BY id
SELECT id FROM sales WHERE day BETWEEN '2024-01-01' AND '2026-01-31' ORDER BY day DESC
SELECT id FROM sales WHERE local < '2025-01-01' ORDER BY local
SELECT id FROM sales WHERE ok = TRUE ORDER BY id
SELECT count(*) AS n FROM sales WHERE 1 = 2
SELECT 1 AS one, 'a' AS a
SELECT place.y AS y, count(*) AS n FROM sales GROUP BY place.y ORDER BY y
"""
"""Statements of all shapes; each has an order, or one row."""


FAILING = (
    "SELECT wide / price FROM sales",
    "SELECT id / tiny FROM sales",
    "SELECT id % tiny FROM sales",
    "SELECT price % 0 FROM sales",
    "SELECT '2.5' * id FROM sales",
    "SELECT id / 0 FROM sales",
    "SELECT CAST(shop AS INT) FROM sales",
    "SELECT CAST('1.5' AS INT) FROM sales",
    "SELECT CAST(note AS DATE) FROM sales",
    "SELECT CAST(big AS INT) FROM sales",
    "SELECT CAST(ratio AS BIGINT) FROM sales",
    "SELECT CAST(wide AS DECIMAL(5, 2)) FROM sales",
    "SELECT tiny * small * small FROM sales",
    "SELECT big * 4 FROM sales",
    "SELECT tiny + tiny FROM sales",
    "SELECT sum(big) * 3 FROM sales",
    "SELECT tags[7] FROM sales",
    "SELECT element_at(tags, 0) FROM sales",
    "SELECT nothing FROM sales",
    "SELECT shop + 1 FROM sales",
    "SELECT shop FROM sales GROUP BY id",
    "SELECT id FROM sales WHERE sum(id) > 1",
    "SELECT id FROM sales JOIN limits ON sales.shop = limits.shop",
    "SELECT (SELECT id FROM limits) FROM sales",
    "SELECT id FROM sales UNION ALL SELECT id, shop FROM limits",
)
"""Statements that Spark refuses or fails at, and so must a query."""
TOGETHER = 40
"""So many expressions are compared in one statement."""


def statements() -> list[str]:
    """Every statement of the corpus; expressions that need no WHERE stand together."""
    lines = EXPRESSIONS.strip().splitlines()
    alone = [line.partition(" FROM sales WHERE ") for line in lines if " FROM sales WHERE " in line]
    plain = [line for line in lines if " FROM sales WHERE " not in line]
    groups = [plain[first : first + TOGETHER] for first in range(0, len(plain), TOGETHER)]
    listed = (", ".join(f"{line} AS x{place}" for place, line in enumerate(group)) for group in groups)
    made = [f"SELECT id AS place_, {columns} FROM sales ORDER BY place_" for columns in listed]
    made += [f"SELECT id AS place_, {line} AS x FROM sales WHERE {rest} ORDER BY place_" for line, _, rest in alone]
    return made + QUERIES.strip().splitlines()
