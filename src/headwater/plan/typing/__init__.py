"""The type of every expression, as Spark's analyzer would derive it, without Spark.

A `Typer` gives every node its `node.type`, and gathers *problems*: unknown functions and columns, wrong numbers of
arguments, types that Spark would refuse, types that can't be derived. What names mean is asked of an `Environment`: the
stages of a view (`plan.expression`) or the FROM of a statement (`query.scope`).
docs/design/20261115_types-without-a-jvm.md says how this is kept equal to Spark.
"""

from sqlglot import exp

from headwater.plan.spark_type import SparkType, from_sqlglot


def type_of(node: exp.Expr) -> SparkType:
    """The type that a node was given.

    >>> str(type_of(exp.Literal.number(1)))
    'unknown'
    """
    return from_sqlglot(node.type)
