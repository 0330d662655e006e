"""Outlets as a server shows them: in the graph, in the metrics, and on the dashboard."""

from __future__ import annotations

from pathlib import Path

from headwater.serve.dashboard.history import History
from headwater.serve.dashboard.lineage import drawing_of, told
from headwater.serve.metrics import Metrics
from headwater.serve.status import lineage_of
from tests.outlets.shop import Shop, row


def test_an_outlet_is_in_the_graph_the_metrics_and_the_chart(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "CREATE OUTLET o FROM spend TO 'delta://exports/spend'")
    shop.write(0, [row("a", "1.00"), row("b", "1.00")])
    with shop.project() as project:
        project.send()
        graph, history = lineage_of(project), History(project)
        history.take(project.status())
        samples = {sample.name: sample.value for metric in Metrics(project).collect() for sample in metric.samples}
    assert {"name": "o", "kind": "outlet"} in graph["nodes"]
    assert {"from": "spend", "to": "o"} in graph["edges"]
    assert (samples["headwater_outlet_changes_total"], samples["headwater_outlet_lag_batches"]) == (2, 0)
    assert (samples["headwater_outlet_dead_total"], samples["headwater_outlet_stopped"]) == (0, 0)
    drawing = drawing_of(graph, history)
    assert ("spend", "o") in drawing.edges
    assert told(history)["o"].text == "2 sent · 0 behind"
