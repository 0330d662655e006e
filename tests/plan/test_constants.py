"""Constants that Spark refuses when a query runs are refused when it is checked, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.errors import Finding
from headwater.findings import TypeMismatch
from tests.plan.test_typing import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED = r"""
approx_count_distinct(i, 0.4)
hll_sketch_agg(i, 3)
hll_sketch_agg(i, 22)
theta_sketch_agg(i, 27)
kll_sketch_agg_bigint(i, 7)
kll_sketch_agg_bigint(i, 65536)
tuple_sketch_agg_double(i, d, 3)
tuple_sketch_agg_double(i, d, 12, 'nonsense')
histogram_numeric(i, 1)
percentile_approx(i, 1.5)
percentile_approx(i, 0.5, 0)
percentile(i, array(0.5, 1.5))
percentile_cont(1.5) WITHIN GROUP (ORDER BY i)
percentile_disc(-0.5) WITHIN GROUP (ORDER BY i)
max_by(i, d, 0)
min_by(i, d, 100001)
approx_top_k(i, 0)
approx_top_k(i, 10001)
approx_top_k(i, 10, 5)
approx_top_k(i, 5, 1000001)
nth_value(i, 0) OVER (ORDER BY i)
ntile(0) OVER (ORDER BY i)
instr(s, 'a', 1, 0)
split_part(s, ',', 0)
element_at(ai, 0)
array_insert(ai, 0, 1)
slice(ai, 0, 1)
slice(ai, 1, -1)
sequence(1, 10, 0)
bit_get(i, 32)
bit_get(l, -1)
elt(3, s, s)
mask(s, 'ab')
encode(s, 'latin1')
to_binary(s, 'nonsense')
to_number(s, 'nonsense')
to_char(i, 'nonsense')
to_char(ts, 'YYYY')
to_char(bin, 'nonsense')
format_string('%d', s)
format_string('%s %s', s)
format_string('%q', s)
printf('%5.2f', i)
next_day(dt, 'nonsense')
time_trunc('nonsense', tm)
from_utc_timestamp(ts, 'nonsense')
from_utc_timestamp(ts, '+19:00')
to_utc_timestamp(ts, 'europe/berlin')
convert_timezone('nonsense', ntz)
date_format(ts, 'yyyy-MM-ddTHH:mm')
date_format(ts, 'YYYY')
date_format(ts, 'ddd')
date_format(ts, 'MMMMM')
date_format(ts, 'yyyy]')
date_format(ts, '#')
from_unixtime(l, 'e')
to_timestamp('Mon', 'E')
to_date('2020-01-01', 'YYYY-MM-DD')
s RLIKE '('
s RLIKE '[a'
s RLIKE '*a'
s RLIKE 'a{2'
s RLIKE 'a**'
s RLIKE '(?P<x>a)'
s RLIKE 'a)'
s RLIKE 'x{2,1}'
s RLIKE '[]'
s RLIKE 'a+++'
s RLIKE '[[a]'
regexp_replace(s, '(', 'x')
regexp_replace(s, 'a', '$1')
regexp_replace(s, 'a', 'b', 0)
regexp_extract(s, 'a')
regexp_extract(s, '(a)', 2)
regexp_extract(s, '(?:a)', 1)
split(s, '[')
str_to_map(s, '(')
s LIKE 'a' ESCAPE 'ab'
s LIKE 'a!' ESCAPE '!'
s LIKE 'a!b' ESCAPE '!'
s COLLATE nonsense
collate(s, 'nonsense')
variant_get(va, 'a')
variant_get(va, '$.a[')
variant_delete(va, '$.a', 'b')
vector_norm(array(1.0F), 3.0F)
hmac(bin, bin, 'nonsense')
"""
TAKEN = r"""
approx_count_distinct(i, 0.39)
approx_count_distinct(i, 0.01)
hll_sketch_agg(i, 4)
hll_sketch_agg(i, 21)
theta_sketch_agg(i, 4)
kll_sketch_agg_bigint(i, 8)
tuple_sketch_agg_double(i, d, 12, 'SUM')
tuple_sketch_agg_double(i, d, 4, 'alwaysone')
histogram_numeric(i, 2)
percentile_approx(i, 1.0, 2147483647)
percentile(i, array(0.0, 1.0))
percentile_cont(0.5) WITHIN GROUP (ORDER BY i)
max_by(i, d, 2)
approx_top_k(i, 5, 1000)
split_part(s, ',', -1)
element_at(ai, -1)
element_at(msi, 'a')
slice(ai, -1, 0)
sequence(10, 1, -1)
bit_get(i, 31)
bit_get(l, 63)
elt(2, s, s)
mask(s, '*')
encode(s, 'utf-8')
decode(i, 3, 'nonsense', 'other')
to_binary('11', 'HEX')
to_char(dec, '999.99')
to_char(ts, 'yyyy')
format_string('%s %5d %.2f %% %2$d', s, i, d)
format_string('%b', s)
next_day(dt, 'TU')
time_trunc('hour', tm)
from_utc_timestamp(ts, 'Europe/Berlin')
from_utc_timestamp(ts, '+1')
from_utc_timestamp(ts, 'GMT+01:00')
from_utc_timestamp(ts, 'PST')
date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
date_format(ts, "yyyy''MM [EEEE] QQQ q a O VV zzzz")
date_format(ts, 'D DDD F GGGG h K k')
from_unixtime(l, 'LLLL')
to_timestamp('2020-01-01 10:00', 'yyyy-MM-dd[ HH:mm]')
s RLIKE '^a{2,}?(?<x>[^\\]a-z]+)(?:b|c)*+\\d$'
s RLIKE ']}'
s RLIKE '[]a]'
s RLIKE 'a(?i)b|'
s RLIKE '\\Q(\\E+'
regexp_replace(s, '(a)', '$1\\$2')
regexp_extract(s, '(a)(b)', 2)
regexp_extract(s, 'a', 0)
split(s, '[.,]', 2)
s LIKE 'a\\%_' AND s LIKE 'a!%!!' ESCAPE '!'
s COLLATE UTF8_LCASE
collate(s, 'de_CI_AI')
variant_get(va, '$.a[0]["b"]')
vector_norm(array(1.0F), 2.0F)
hmac(bin, bin, 'SHA-512')
"""


def lines(block: str) -> list[str]:
    return block.strip().splitlines()


def problems(expression: str) -> list[Finding]:
    return checked(f"SELECT {expression} AS x FROM t").findings


@pytest.mark.parametrize("expression", lines(REFUSED))
def test_a_constant_that_can_not_be_taken_is_refused_with_what_to_write(expression: str) -> None:
    (problem,) = problems(expression)
    assert isinstance(problem, TypeMismatch)
    assert problem.detail and problem.hint
    assert "__" not in problem.detail + problem.hint


@pytest.mark.parametrize("expression", lines(TAKEN))
def test_a_constant_that_can_be_taken_is(expression: str) -> None:
    assert problems(expression) == []


@pytest.mark.parametrize("expression", ["approx_count_distinct(i, 0.0)", "approx_count_distinct(i, -1.0)"])
def test_an_error_of_nothing_would_take_all_memory(expression: str) -> None:
    assert problems(expression)


def test_spark_refuses_and_takes_the_same(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    row = """SELECT 3 AS i, 4L AS l, 1.5D AS d, 2.50BD AS dec, 'a1' AS s, CAST('abc' AS BINARY) AS bin,
        DATE '2026-01-02' AS dt, TIMESTAMP '2026-01-02 03:04:05' AS ts, TIMESTAMP_NTZ '2026-01-02 03:04:05' AS ntz,
        TIME '03:04:05' AS tm, array(1, 2, 3) AS ai, map('a', 1) AS msi, parse_json('{"a": [{"b": 1}]}') AS va
        FROM range(1)"""
    spark.sql(row).createOrReplaceTempView("t")
    taken, refused = ([line for line in lines(block) if is_taken(spark, line)] for block in (TAKEN, REFUSED))
    spark.catalog.dropTempView("t")
    spark.conf.unset("spark.sql.timeType.enabled")
    assert (taken, refused) == (lines(TAKEN), [])


def is_taken(spark: SparkSession, expression: str) -> bool:
    try:
        spark.sql(f"SELECT {expression} AS x FROM t").toArrow()
    except Exception:
        return False
    return True
