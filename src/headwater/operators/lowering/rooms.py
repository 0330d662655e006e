"""The rooms of all operators: each makes known how it is lowered. Whoever lowers stages imports the walk from here."""

from headwater.operators.aggregate import lowering as aggregate_lowering
from headwater.operators.apply import lowering as apply_lowering
from headwater.operators.as_known_join import lowering as as_known_join_lowering
from headwater.operators.as_of_join import lowering as as_of_join_lowering
from headwater.operators.assign import lowering as assign_lowering
from headwater.operators.deduplicate import lowering as deduplicate_lowering
from headwater.operators.expand import lowering as expand_lowering
from headwater.operators.filter import lowering as filter_lowering
from headwater.operators.join import lowering as join_lowering
from headwater.operators.late import lowering as late_lowering
from headwater.operators.lowering.walk import KnownParts, LateRows, Lowering, Searched, lowered, taken_in
from headwater.operators.match import lowering as match_lowering
from headwater.operators.over import lowering as over_lowering
from headwater.operators.project import lowering as project_lowering
from headwater.operators.scan import lowering as scan_lowering
from headwater.operators.topn import lowering as topn_lowering
from headwater.operators.union import lowering as union_lowering

ROOMS = (
    aggregate_lowering,
    apply_lowering,
    as_known_join_lowering,
    as_of_join_lowering,
    assign_lowering,
    deduplicate_lowering,
    expand_lowering,
    filter_lowering,
    join_lowering,
    late_lowering,
    match_lowering,
    over_lowering,
    project_lowering,
    scan_lowering,
    topn_lowering,
    union_lowering,
)
"""One for each operator: a new one is added here, and in `operators`."""

__all__ = ["ROOMS", "KnownParts", "LateRows", "Lowering", "Searched", "lowered", "taken_in"]
