"""What Spark itself says of its functions: their names, their examples, the types of queries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLE = re.compile(r"^\s*> ((?:SELECT|WITH|VALUES|FROM)[\s\S]*?);\s*$", re.MULTILINE | re.IGNORECASE)


class Example(NamedTuple):
    """A query from the documentation of a function."""

    function: str
    query: str


def function_names(spark: SparkSession) -> set[str]:
    """The names that SHOW SYSTEM FUNCTIONS gives."""
    return {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}


def examples(spark: SparkSession) -> list[Example]:
    """The examples of every function, as DESCRIBE FUNCTION EXTENDED shows them."""
    jvm, catalog = spark._jvm, spark._jsparkSession.sessionState().catalog()
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    found = []
    for name in sorted(function_names(spark)):
        text = catalog.lookupFunctionInfo(identifier(name)).getExamples() or ""
        found += [Example(name, query) for query in _EXAMPLE.findall(text)]
    return found


def analyzed_types(spark: SparkSession, query: str) -> list[str] | None:
    """The types of a query's columns as Spark's analyzer has them, None where it refuses. No job runs."""
    try:
        kinds = [field.dataType.simpleString() for field in spark.sql(query).schema.fields]
    except Exception:
        return None
    return [kind.partition(" collate ")[0] for kind in kinds]
