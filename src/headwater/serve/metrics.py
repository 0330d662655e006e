"""The figures as Prometheus has them. Labels are names of topics, views and outlets: as many as are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headwater.operate.status import Status
from headwater.project import Project

_LEDGER = ("used", "filtered", "late", "duplicates", "dead")


class Metrics(Collector):
    """Asks the project for its status each time it is scraped."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def collect(self) -> Iterator[Metric]:
        """Every figure."""
        status = self._project.status()
        yield from _topics(status)
        yield from _views(status)
        yield from _runs(status)
        yield from _outlets(status)
        yield from _alerts(status)

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: registering must not ask the project."""
        return iter(())


def _gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, labels=labels)


def _counter(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, meaning, labels=labels)


def _topics(status: Status) -> Iterator[Metric]:
    rows = _counter("headwater_topic_rows", "Rows in the log of a topic.", "topic")
    dead = _gauge("headwater_topic_dead", "Dead letters of a topic that have not come back.", "topic")
    unknown = _counter(
        "headwater_topic_unknown_fields", "Events with a field that no column declares.", "topic", "field"
    )
    head = _gauge("headwater_topic_head", "The newest commit of a topic.", "topic")
    behind = _gauge(
        "headwater_topic_watermark_delay_seconds", "How far the watermark is behind the wall clock.", "topic"
    )
    waits = _gauge("headwater_intake_waiting", "1 if the intake of a topic waits for something.", "topic")
    paused = _gauge("headwater_intake_paused", "1 if the operator has paused the intake of a topic.", "topic")
    held = _gauge("headwater_intake_wal_held_bytes", "WAL that PostgreSQL holds back for the slot of a topic.", "topic")
    for topic in status.topics:
        if topic.held is not None:
            held.add_metric([topic.topic], topic.held)
        paused.add_metric([topic.topic], float(topic.paused is not None))
        waits.add_metric([topic.topic], float(topic.waits is not None))
        rows.add_metric([topic.topic], topic.rows)
        dead.add_metric([topic.topic], topic.dead)
        for name, count in topic.unknown.items():
            unknown.add_metric([topic.topic, name], count)
        head.add_metric([topic.topic], topic.head)
        if topic.watermark.year > 1970:
            behind.add_metric([topic.topic], (status.at - topic.watermark).total_seconds())
    yield from (rows, dead, unknown, head, behind, waits, paused, held)


def _views(status: Status) -> Iterator[Metric]:
    lag = _gauge("headwater_view_lag_commits", "Commits that a view has not read.", "view")
    stores = _gauge("headwater_store_lag_commits", "Commits of a view that one of its stores lacks.", "view", "store")
    stopped = _gauge("headwater_view_stopped", "1 if a view has stopped for good.", "view")
    paused = _gauge("headwater_view_paused", "1 if the operator has paused a view.", "view")
    unsound = _gauge("headwater_view_unsound", "1 if Spark dropped rows of a view.", "view")
    fates = _counter("headwater_view_events", "What became of events.", "view", "fate")
    unmatched = _counter("headwater_view_unmatched", "Rows among those used for which a table had no row.", "view")
    remainder = _gauge("headwater_view_ledger_remainder", "What no fate explains.", "view")
    behind = _gauge("headwater_view_watermark_delay_seconds", "How far the watermark is behind the wall clock.", "view")
    for view in status.views:
        lag.add_metric([view.view], view.lag)
        for store in view.stores:
            stores.add_metric([view.view, store.store], store.lag)
        stopped.add_metric([view.view], float(view.has_stopped))
        paused.add_metric([view.view], float(view.paused is not None))
        unsound.add_metric([view.view], float(view.unsound is not None))
        if view.ledger is not None:
            remainder.add_metric([view.view], view.ledger.remainder)
            unmatched.add_metric([view.view], view.ledger.unmatched)
            taken = view.ledger.used + view.ledger.unmatched  # a counter that went down would have begun anew
            for fate in _LEDGER:
                fates.add_metric([view.view, fate], taken if fate == "used" else getattr(view.ledger, fate))
        if view.watermark is not None and view.watermark.year > 1970:
            behind.add_metric([view.view], (status.at - view.watermark).total_seconds())
    yield from (lag, stores, stopped, paused, unsound, fates, unmatched, remainder, behind)


def _runs(status: Status) -> Iterator[Metric]:
    """The figures of views that run here."""
    fresh = _gauge("headwater_view_freshness_seconds", "From arrival to the store, by quantile.", "view", "quantile")
    batch = _gauge("headwater_view_batch_seconds", "From when a batch began until it is stored.", "view", "quantile")
    writing = _gauge("headwater_view_writing_seconds", "How long the store takes to write a batch.", "view", "quantile")
    rows = _counter("headwater_view_rows_written", "Rows written to the store.", "view")
    state = _gauge("headwater_view_state_bytes", "What is kept between batches.", "view")
    for figures in (view.figures for view in status.views if view.figures):
        rows.add_metric([figures.view], figures.rows)
        state.add_metric([figures.view], figures.state_bytes)
        _add_quantiles(fresh, figures.view, figures.freshness)
        _add_quantiles(batch, figures.view, figures.batch_time)
        _add_quantiles(writing, figures.view, figures.writing_time)
    yield from (fresh, batch, writing, rows, state)


def _add_quantiles(metric: GaugeMetricFamily, view: str, time: Callable[[float], float | None]) -> None:
    for share in (0.5, 0.99):
        seconds = time(share)
        if seconds is not None:
            metric.add_metric([view, str(share)], seconds)


def _outlets(status: Status) -> Iterator[Metric]:
    lag = _gauge("headwater_outlet_lag_batches", "Batches that an outlet has not sent.", "outlet")
    stopped = _gauge("headwater_outlet_stopped", "1 if an outlet has stopped for good.", "outlet")
    sent = _counter("headwater_outlet_changes", "Changes that an outlet has sent.", "outlet")
    dead = _counter("headwater_outlet_dead", "Changes that could not be delivered.", "outlet")
    for outlet in status.outlets:
        labels = [outlet.sent.outlet]
        lag.add_metric(labels, outlet.lag)
        stopped.add_metric(labels, float(outlet.sent.state == "stopped"))
        sent.add_metric(labels, outlet.sent.changes)
        dead.add_metric(labels, outlet.sent.dead)
    yield from (lag, stopped, sent, dead)


def _alerts(status: Status) -> Iterator[Metric]:
    firing = _gauge(
        "headwater_alert_firing", "1 if an alert fires, 0 if it is pending or resolved.", "rule", "kind", "name"
    )
    for alert in status.alerts:
        firing.add_metric([alert.rule, alert.kind, alert.name], float(alert.state == "firing"))
    yield firing
