"""The functions of Spark: the kind of each, whether it is pure, what batching does to it, what it takes and gives.

The *catalogue* is data, `catalogue.toml`; a test with Spark asserts that its names are those of `SHOW FUNCTIONS`, so
that an upgrade of Spark fails loudly. A function is *impure* where its value depends on when or where it runs. The
*stability* of an aggregate is what cutting the same rows into other batches does to its value.

>>> find("SUM").kind
<Kind.AGGREGATE: 'aggregate'>
>>> find("now").is_pure(0)
False
>>> suggest("coalesc")
['coalesce']
"""

from headwater.plan.functions.catalogue import (
    FunctionInfo,
    Impurity,
    Kind,
    catalogue,
    declared,
    find,
    suggest,
)
from headwater.plan.functions.foreign import SOURCE, foreign, hint_for, hint_instead, window_hint
from headwater.plan.functions.signature import Parameter, Signature, parse_signature

__all__ = [
    "SOURCE", "FunctionInfo", "Impurity", "Kind", "Parameter", "Signature", "catalogue", "declared",
    "find", "foreign", "hint_for", "hint_instead", "parse_signature", "suggest", "window_hint",
]  # fmt: skip
