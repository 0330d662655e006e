"""Operators: what a view does to rows, a room for each.

A *stage* has inputs (other stages), output columns, and expressions over the columns of its inputs, written in Spark
SQL. It names no Spark class: the modules `lowering` beside the stages do, and whoever walks them.

    Scan         the rows of a topic, a table's fold, or another view's derived topic; only the columns that are used
    Filter       rows for which a condition is true
    Project      computed columns
    Expand       one row per element (explode and its kin)
    Assign       window bounds added to each row, once per window the row is in
    Join         two inputs by equality, within a time bound, or in the same window
    AsOfJoin     rows with those of a table, as it was at an instant of each
    AsKnownJoin  rows with those of a table, as it was known when each arrived
    Late         the rows that came too late for another view
    Union        the rows of several inputs
    Deduplicate  one row per key
    Aggregate    one row per group
    Over         a value per row from the rows around it
    TopN         the first rows of each partition
    Match        rows that match a pattern over those of their partition
    Apply        a Python function on DataFrames
"""

from headwater.operators.aggregate.stage import Aggregate, Call, Stability
from headwater.operators.apply.stage import Apply
from headwater.operators.as_known_join.stage import AsKnownJoin
from headwater.operators.as_of_join.stage import AsOfJoin
from headwater.operators.assign.stage import Assign, Panes
from headwater.operators.deduplicate.stage import Deduplicate
from headwater.operators.expand.stage import Expand
from headwater.operators.expression import Ancestor, Expression, Field, Named, Ordering, Role
from headwater.operators.filter.stage import Filter
from headwater.operators.join.stage import Join, JoinKind, TimeBound
from headwater.operators.late.stage import Late
from headwater.operators.match.stage import Match
from headwater.operators.over.stage import Frame, Over, OverCall
from headwater.operators.project.stage import Project
from headwater.operators.scan.stage import Scan
from headwater.operators.stage import Stage, Unary
from headwater.operators.topn.stage import TopN
from headwater.operators.union.stage import Union

__all__ = [
    "Aggregate",
    "Ancestor",
    "Apply",
    "AsKnownJoin",
    "AsOfJoin",
    "Assign",
    "Call",
    "Deduplicate",
    "Expand",
    "Expression",
    "Field",
    "Filter",
    "Frame",
    "Join",
    "JoinKind",
    "Late",
    "Match",
    "Named",
    "Ordering",
    "Over",
    "OverCall",
    "Panes",
    "Project",
    "Role",
    "Scan",
    "Stability",
    "Stage",
    "TimeBound",
    "TopN",
    "Unary",
    "Union",
]
