"""Testing a project: input as data, crashes as data, and the same rows from every execution.

import headwater.testing as ht

with ht.scenario(SQL) as shop:
    shop.append("orders", rows, commits=[2, 3])
    shop.crash(point="before apply")
    shop.run()
    shop.expect("orders_per_minute", expected)
"""

from headwater.testing.compare import Difference, compare
from headwater.testing.conformance import SqlStoreConformance, StoreConformance, TogetherConformance, Wall
from headwater.testing.conformance.intake import IntakeConformance, payments
from headwater.testing.conformance.target import TargetConformance, planned_outlet
from headwater.testing.crash import Crash
from headwater.testing.execution import EXECUTIONS, Execution, executions
from headwater.testing.history import Anomaly, History, Read, Write, check_history
from headwater.testing.scenario import Scenario, scenario
from headwater.testing.script import COMMIT, CRASH, Now, Tick, read_script

__all__ = [
    "COMMIT", "CRASH", "EXECUTIONS", "Anomaly", "Crash", "Difference", "Execution", "History", "IntakeConformance",
    "Now", "Read", "Scenario", "SqlStoreConformance", "StoreConformance", "TargetConformance", "Tick",
    "TogetherConformance", "Wall", "Write", "check_history", "compare", "executions", "payments", "planned_outlet",
    "read_script", "scenario",
]  # fmt: skip
