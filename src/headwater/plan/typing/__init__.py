"""The type of every expression and of every column of a query, as Spark's analyzer would derive it, without Spark.

`annotate` types a whole query, `annotate_expression` one expression over known columns. Both give every node its
`node.type`, and gather *problems*: unknown functions and columns, wrong numbers of arguments, types that Spark would
refuse, types that can't be derived. docs/design/20261115_types-without-a-jvm.md says how this is kept equal to Spark.

>>> import pyarrow as pa, sqlglot
>>> query = sqlglot.parse_one("SELECT sum(price) AS total FROM sales", dialect="spark")
>>> typed = annotate(query, {"sales": {"price": pa.decimal128(12, 2)}})
>>> [str(column) for column in typed.columns]
['total DECIMAL(22, 2)']
"""

from headwater.plan.typing.annotation import (
    TypedExpression,
    TypedQuery,
    annotate,
    annotate_expression,
    type_of,
)
from headwater.plan.typing.problem import Problem

__all__ = ["Problem", "TypedExpression", "TypedQuery", "annotate", "annotate_expression", "type_of"]
