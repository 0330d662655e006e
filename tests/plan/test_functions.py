"""The catalogue of functions: complete, and right about purity and stability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headwater import model
from headwater.operators import Stability
from headwater.plan.functions import Kind, catalogue, declared, find, parse_signature, suggest
from headwater.plan.spark_type import BIGINT, DAY_TO_SECOND, DOUBLE, FLOAT, INT, STRING, decimal
from headwater.plan.typing.rules import find_rule
from tests.plan.spark_examples import function_names
from tools.functions_page import functions_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
GRAMMAR = {"timestampadd", "timestampdiff"}


def test_the_catalogue_has_the_functions_of_spark(spark: SparkSession) -> None:
    assert set(catalogue()) - GRAMMAR == function_names(spark)


def test_a_function_is_found_whatever_the_case() -> None:
    info = find("Sum")
    assert info is not None
    assert (info.name, info.kind, info.impurity) == ("sum", Kind.AGGREGATE, None)


def test_an_unknown_function_is_not_found_but_near_names_are_suggested() -> None:
    assert find("coalesc") is None
    assert suggest("coalesc") == ["coalesce"]
    assert suggest("row_numbr")[0] == "row_number"
    assert suggest("tax_off", ["tax_of"]) == ["tax_of"]
    assert suggest("qqqq") == []


def test_every_rule_that_the_catalogue_names_exists() -> None:
    for info in catalogue().values():
        if info.signature.result.startswith("@"):
            assert callable(find_rule(info.signature.result[1:]))


IMPURE = [
    "now",
    "current_timestamp",
    "current_date",
    "rand",
    "randn",
    "random",
    "uuid",
    "shuffle",
    "input_file_name",
    "monotonically_increasing_id",
    "spark_partition_id",
    "current_user",
    "current_database",
    "version",
    "reflect",
    "java_method",
    "localtimestamp",
]


@pytest.mark.parametrize("name", IMPURE)
def test_what_depends_on_when_or_where_it_runs_is_impure(name: str) -> None:
    info = find(name)
    assert info is not None
    assert info.impurity is not None
    assert not info.is_pure(3)
    assert info.impurity is not None
    assert info.impurity.why


def test_some_functions_are_impure_only_without_an_argument() -> None:
    unix_timestamp, aes_encrypt = find("unix_timestamp"), find("aes_encrypt")
    assert unix_timestamp is not None
    assert aes_encrypt is not None
    assert not unix_timestamp.is_pure(0)
    assert unix_timestamp.is_pure(1)
    assert not aes_encrypt.is_pure(2)
    assert aes_encrypt.is_pure(5)


@pytest.mark.parametrize("name", ["date_trunc", "from_utc_timestamp", "hour", "to_timestamp", "current_timezone"])
def test_what_depends_on_the_time_zone_is_pure_because_the_session_is_in_utc(name: str) -> None:
    info = find(name)
    assert info is not None
    assert info.impurity is None


@pytest.mark.parametrize(
    ("name", "argument", "distinct", "stability"),
    [
        ("sum", INT, False, Stability.EXACT),
        ("sum", decimal(12, 2), False, Stability.EXACT),
        ("sum", DAY_TO_SECOND, False, Stability.EXACT),
        ("sum", DOUBLE, False, Stability.APPROXIMATE),
        ("sum", FLOAT, False, Stability.APPROXIMATE),
        ("sum", STRING, False, Stability.APPROXIMATE),
        ("avg", decimal(12, 2), False, Stability.EXACT),
        ("avg", BIGINT, False, Stability.REWRITTEN),
        ("avg", DOUBLE, False, Stability.APPROXIMATE),
        ("count", INT, False, Stability.EXACT),
        ("count", INT, True, Stability.REWRITTEN),
        ("max", DOUBLE, True, Stability.EXACT),
        ("first", INT, False, Stability.REWRITTEN),
        ("max_by", INT, False, Stability.REWRITTEN),
        ("collect_list", INT, False, Stability.REWRITTEN),
        ("stddev", INT, False, Stability.APPROXIMATE),
        ("approx_percentile", INT, False, Stability.APPROXIMATE),
        ("approx_count_distinct", INT, False, Stability.EXACT),
        ("percentile", DOUBLE, False, Stability.EXACT),
        ("theta_sketch_agg", INT, False, Stability.EXACT),
        ("kll_sketch_agg_bigint", BIGINT, False, Stability.APPROXIMATE),
        ("hll_sketch_agg", BIGINT, False, Stability.APPROXIMATE),
        ("approx_top_k", STRING, False, Stability.APPROXIMATE),
        ("count_min_sketch", INT, False, Stability.EXACT),
        ("bitmap_construct_agg", BIGINT, False, Stability.EXACT),
        ("collect_union", INT, False, Stability.REFUSED),
    ],
)
def test_the_stability_of_an_aggregate_depends_on_its_argument(
    name: str, argument: object, distinct: bool, stability: Stability
) -> None:
    info = find(name)
    assert info is not None
    found, why = info.explain_stability([argument], distinct)  # type: ignore[list-item]
    assert found is stability
    assert (why is None) == (stability is Stability.EXACT)


def test_a_signature_says_what_may_be_left_out_repeated_and_constant() -> None:
    signature = parse_signature("= string!, #(int|bigint)?, array<T>* -> map<string,$1>")
    first, second, third = signature.parameters
    assert signature.strict
    assert (signature.least, signature.most, signature.result) == (1, None, "map<string,$1>")
    assert (first.takes, first.takes_null, first.optional) == (("string",), False, False)
    assert (second.takes, second.constant, second.optional) == (("int", "bigint"), True, True)
    assert (third.takes, third.repeated) == (("array<T>",), True)
    assert signature.parameter(7) is third


def test_a_function_of_the_project_has_its_declared_types() -> None:
    tax = model.Function(
        name="tax_of",
        parameters=(model.Column("price", pa.decimal128(12, 2)),),
        returns=pa.decimal128(14, 4),
        body="price * 0.19",
    )
    info = declared(tax)
    assert (info.name, info.kind, info.signature.result) == ("tax_of", Kind.SCALAR, "decimal(14,4)")
    assert info.signature.parameters[0].takes == ("decimal(12,2)",)
    assert find("TAX_OF", {"tax_of": tax}) == info


def test_the_page_of_functions_is_current() -> None:
    page = ROOT / "docs" / "reference" / "functions.md"
    assert page.read_text("utf-8") == functions_page(), "run tools/functions_page.py"
