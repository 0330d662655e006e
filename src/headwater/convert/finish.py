"""The end of a conversion, when every statement was read: sinks that queries write to, watermarks that queries ask for,
and columns that are expressions, which a view computes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from sqlglot import exp

from headwater import model
from headwater.convert.drafts import Conversion, Draft, Insert, Remark, Topic, View
from headwater.convert.queries import adopt, name_all, parse_foreign, spelled_reason
from headwater.convert.system import length_of, name_columns, outlet_of
from headwater.errors import HeadwaterError
from headwater.model import parse_duration

_EVENTS = "events"
_INTAKES: Mapping[str, type[model.Intake]] = {"kafka": model.Kafka, "folder": model.Folder, "postgres": model.Postgres}
_OF_INTAKES = {part.name for kind in _INTAKES.values() for part in fields(kind)}


def finish(conversion: Conversion) -> None:
    """Let drafts be what they are once everything is known."""
    for into in dict.fromkeys(insert.into.lower() for insert in conversion.inserts):
        _write_into(conversion, [insert for insert in conversion.inserts if insert.into.lower() == into])
    for source, time, delay in conversion.delays:
        _delay(conversion, source, time, delay)
    for topic in list(conversion.topics()):
        if topic.computed:
            _compute(conversion, topic)
        _leave_options_out(topic)
    for view in conversion.drafts:
        if isinstance(view, View):
            view.notes += name_all(view.query)


def _leave_options_out(topic: Topic) -> None:
    """Leave out the options that another connector has."""
    kind = _INTAKES.get(topic.options.get("connector", ""))
    for name in [name for name in topic.options if name in _OF_INTAKES]:
        if kind is None or name not in {part.name for part in fields(kind)}:
            where = f"with connector '{topic.options['connector']}'" if kind else "without a connector"
            topic.notes.append(f"{name} = '{topic.options.pop(name)}' was left out: there is no such option {where}.")


def _write_into(conversion: Conversion, inserts: list[Insert]) -> None:
    """Make a view of what is written into a table, and an outlet if that is somewhere else."""
    into, sink = inserts[0].into, conversion.find(inserts[0].into)
    try:
        for insert in inserts:
            names = insert.columns or ([column.name for column in sink.columns] if isinstance(sink, Topic) else ())
            if names and conversion.system != "spark":
                name_columns(insert.view.query, names, insert.view.notes)
    except HeadwaterError as problem:
        conversion.drafts += [Remark(insert.view.name, None, [spelled_reason(problem)]) for insert in inserts]
        return
    made = inserts[0].view
    queries = [*([sink.query] if isinstance(sink, View) else []), *(insert.view.query for insert in inserts)]
    view = View(
        sink.name if sink else into,
        (sink.comment if sink else None) or made.comment,
        list(dict.fromkeys(note for insert in inserts for note in insert.view.notes)),
        _together(queries),
        True,
        made.emit if len(inserts) == 1 else None,
        dict(made.options),
    )
    if isinstance(sink, View):
        view.notes[:0], view.options, view.emit = sink.notes, sink.options | view.options, sink.emit
        view.materialized = sink.materialized
    written: list[Draft] = [view]
    if isinstance(sink, Topic):
        _tell_of_sink(view, sink, queries)
        outlet = outlet_of(view, sink.given, view.name)
        written += [outlet] if outlet else []
    if sink is None:
        conversion.drafts += written
        return
    # what it reads may stand behind it, and a view says so whichever comes first
    conversion.replace(sink, *written)


def _tell_of_sink(view: View, sink: Topic, queries: list[exp.Query]) -> None:
    keys = {key.lower() for key in sink.primary_key}
    if keys and not any(query.args.get("group") for query in queries):
        view.notes.append(
            f"It was written to by the key {', '.join(sink.primary_key)}: here the key of a view follows from "
            f"its query, or is key = '…'."
        )


def _together(queries: list[exp.Query]) -> exp.Query:
    whole = queries[0]
    for query in queries[1:]:
        whole = exp.union(whole, query, distinct=False, copy=False)
    return whole


def _delay(conversion: Conversion, source: str, time: str, delay: str) -> None:
    """Give the stream that a query reads the watermark that the query asks of it; the longest, of several."""
    topic = conversion.find(source)
    if not isinstance(topic, Topic):
        reader = next((view for view in conversion.drafts if isinstance(view, View) and _reads(view, source)), None)
        if reader is not None:
            reader.notes.append(
                f"WATERMARK {time} DELAY OF {delay} was left out: declare it with the stream, WATERMARK FOR "
                f"{time} AS {time} - {delay}."
            )
        return
    if topic.time is not None and parse_duration(length_of(topic.delay)) >= parse_duration(length_of(delay)):
        return
    topic.time, topic.delay = time, delay


def _reads(view: View, source: str) -> bool:
    return any(table.name.lower() == source.lower() for table in view.query.find_all(exp.Table))


def _compute(conversion: Conversion, topic: Topic) -> None:
    """Let a view compute what a declaration had as expressions, by the name that queries know."""
    name = topic.name
    topic.name = f"{name}_{_EVENTS}"
    view = View(name, materialized=False)
    expressions = [f"{text} AS `{column}`" for column, text in topic.computed.items()]
    arrivals = [f"_arrived_at AS `{column}`" for column in topic.arrivals]
    text = f"SELECT {', '.join(['*', *expressions, *arrivals])} FROM `{topic.name}`"  # noqa: S608  a declaration
    try:
        view.query, view.notes = adopt(parse_foreign(text), conversion, counts_from_one=True)
    except HeadwaterError as problem:
        topic.name = name
        spelled = ", ".join(f"{column} AS {' '.join(text.split())}" for column, text in topic.computed.items())
        topic.notes.append(
            f"Columns that are computed were left out ({spelled}): {spelled_reason(problem)} Compute them in a view."
        )
        return
    conversion.replace(topic, topic, view)
