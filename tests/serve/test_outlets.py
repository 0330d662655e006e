"""Outlets as a server shows them: in the graph, in the metrics, and on the dashboard."""

from __future__ import annotations

from pathlib import Path

from headwater.serve.dashboard import charts
from headwater.serve.metrics import Metrics
from headwater.serve.status import lineage_of
from tests.outlets.shop import Shop, row


def test_an_outlet_is_in_the_graph_the_metrics_and_the_chart(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "CREATE OUTLET o FROM spend TO 'delta://exports/spend'")
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    with shop.project() as project:
        project.send()
        graph, status = lineage_of(project), project.status()
        samples = {sample.name: sample.value for metric in Metrics(project).collect() for sample in metric.samples}
    assert {"name": "o", "kind": "outlet"} in graph["nodes"]
    assert {"from": "spend", "to": "o"} in graph["edges"]
    assert (samples["headwater_outlet_changes_total"], samples["headwater_outlet_lag_batches"]) == (2, 0)
    assert (samples["headwater_outlet_dead_total"], samples["headwater_outlet_stopped"]) == (0, 0)
    nodes = charts.lineage(graph, status)["series"][0]["data"]
    assert [node["label"]["formatter"] for node in nodes if node["name"] == "o"] == ["o\n2 sent, 0 behind"]
