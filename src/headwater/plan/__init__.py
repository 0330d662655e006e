"""From what is declared to what can be executed: `check` gives a plan, a checked graph of typed stages, and every
finding.
"""

from headwater.operators import Ancestor, Field, Role, Stage
from headwater.plan.check import check
from headwater.plan.data import as_dict, view_as_dict
from headwater.plan.describe import describe, describe_view
from headwater.plan.graph import Edge, Graph
from headwater.plan.lineage import reaches
from headwater.plan.physical.execution import Execution
from headwater.plan.physical.key import Key
from headwater.plan.planned import Plan, PlannedOutlet, PlannedView

__all__ = [
    "Ancestor", "Edge", "Execution", "Field", "Graph", "Key", "Plan", "PlannedOutlet", "PlannedView", "Role", "Stage",
    "as_dict", "check", "describe", "describe_view", "reaches", "view_as_dict",
]  # fmt: skip
