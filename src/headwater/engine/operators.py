"""The rows that Spark's operators with state dropped in a micro-batch, and those that went astray.

An operator drops what comes to it behind its watermark and says so in a figure of its own, `numRowsDroppedByWatermark`.
Behind it, rows are counted by Spark as it gives them, and again at the barrier before the next operator. Between the
two nothing may be lost. The figures are read off the executed plan before the batch is delivered; a few lines of Java
walk it in one call, where a call for each node would cost more than the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headwater.operators.lowering.ledger import ASTRAY, DROPPED, Count
from headwater.operators.lowering.stamp import MARKED

_CLASS = "headwater.Operators"
_SOURCE = """
package headwater;

import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.util.AccumulatorV2;

public class Operators {
    public String of(QueryExecution execution) {
        StringBuilder told = new StringBuilder();
        walk(execution.executedPlan(), told);
        return told.toString();
    }

    private static void walk(SparkPlan node, StringBuilder told) {
        if (has(node, "numRowsDroppedByWatermark")) {
            told.append("dropped\\t").append(value(node, "numRowsDroppedByWatermark")).append("\\n");
        }
        if (node instanceof CollectMetricsExec) {
            String name = ((CollectMetricsExec) node).name();
            long emitted = emitted(child(node, 0));
            if (emitted >= 0) { told.append(name).append("\\t").append(emitted).append("\\n"); }
        }
        for (int index = 0; index < node.children().size(); index++) { walk(child(node, index), told); }
    }

    private static long emitted(SparkPlan node) {
        if (has(node, "numOutputRows")) { return keeps(node) ? value(node, "numOutputRows") : -1; }
        return node.children().size() == 1 ? emitted(child(node, 0)) : -1;
    }

    private static boolean keeps(SparkPlan node) {
        if (has(node, "numRowsDroppedByWatermark")) { return true; }
        for (int index = 0; index < node.children().size(); index++) {
            if (keeps(child(node, index))) { return true; }
        }
        return false;
    }

    private static SparkPlan child(SparkPlan node, int index) { return (SparkPlan) node.children().apply(index); }

    private static boolean has(SparkPlan node, String name) { return node.metrics().contains(name); }

    private static long value(SparkPlan node, String name) {
        return ((Long) ((AccumulatorV2) node.metrics().apply(name)).value()).longValue();
    }
}
"""


def lost_in(jvm: Any, execution: Any, counts: Mapping[str, Count]) -> dict[str, int]:
    """The number of rows that the operators of an executed micro-batch dropped, and that went astray between them.

    `counts` are those of the barriers. `execution` is Spark's own QueryExecution, behind the gateway. What is 0 is left
    out.
    """
    lines = (line.rsplit("\t", 1) for line in _walker(jvm).of(execution).splitlines())
    figures = [(name, int(figure)) for name, figure in lines]
    entered = {name: count.rows for name, count in counts.items() if name.startswith(MARKED)}
    lost = {
        DROPPED: sum(figure for name, figure in figures if name == DROPPED),
        ASTRAY: sum(emitted - entered[name] for name, emitted in figures if name in entered),
    }
    return {name: count for name, count in lost.items() if count}


@lru_cache(maxsize=1)
def _walker(jvm: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE)
    return compiler.getClassLoader().loadClass(_CLASS).newInstance()
