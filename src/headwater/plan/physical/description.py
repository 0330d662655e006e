"""A physical plan in words: what a reader of `headwater explain` is told beside the stages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater.model import spell_duration
from headwater.plan.physical.operators import Way
from headwater.plan.physical.step import Step
from headwater.plan.physical.view import Physical

_STAMPS = {"_watermark": "event time", "_arrived_at": "arrival"}
_BACK = {
    "nothing": "what is new",
    "reach": "what its rows can reach",
    "events": "back to the oldest of its new events",
    "everything": "the whole log",
}


def facts(physical: Physical) -> Iterator[tuple[str, str]]:
    """The decisions about a view, each under a name."""
    if physical.execution.kind == "inline":
        return
    yield "pace", _pace(physical)
    yield "reach", _reach(physical)
    yield "operators", ", ".join(_operators(physical)) or "row by row"
    if physical.streaming is not None:
        yield "reads", "the topics as they grow" + ("" if physical.streaming.barriers else ", without barriers")
    if physical.step is not None:
        yield "steps", "; ".join(_step(physical))
        if physical.execution.kind == "settle":
            yield "few rows", f"in memory, by a plan that is made {_made(physical.step)}; many from files, by all cores"
    if physical.publishes is not None and physical.execution.settles:
        yield "publishes", f"rows {_after(physical.publishes.lag, 'they happened')}, by {physical.publishes.by[0]}"


def _pace(physical: Physical) -> str:
    if physical.execution.kind == "maintained":
        return "commit by commit; nothing is late, and no row is final"
    return f"by {_STAMPS[physical.pace.stamp]}; final {_after(physical.pace.settles, 'its end')}"


def _reach(physical: Physical) -> str:
    if physical.step is not None and physical.step.looks_back == "everything":
        return "the whole log"
    waits = f", of which it waits {spell_duration(physical.waits)}" if physical.waits else ""
    return f"{spell_duration(physical.reach)}{waits}"


def _operators(physical: Physical) -> Iterator[str]:
    for operator in physical.operators:
        if operator.way is not Way.BY_ROW:
            name = operator.stage.noun or type(operator.stage).__name__.lower()
            yield f"{name} {operator.way.value}"


def _step(physical: Physical) -> Iterator[str]:
    step = physical.step
    assert step is not None
    if step.trace is not None:
        yield "read what the keys of new rows lead to" + (
            ", add it to sums of groups, and take off what it was" if step.summed is not None else ""
        )
    elif step.asks:
        yield "read events that are new or become final, and what they ask tables for"
        yield "of the others those that ask for what has changed"
    else:
        yield f"add what is new to {step.adds}" if step.adds else f"read {_BACK[step.looks_back]}"
    if step.untraced:
        yield f"all is computed anew, because {step.untraced}"
    if step.keys:
        names = (" and ".join(dict.fromkeys(key)) for key in zip(*step.keys, strict=True))
        yield f"rows of the same {', '.join(names)} matter to each other"
    if step.touched:
        yield "the others are as they were"
    if step.as_they_come:
        yield "rows are written as they come"
    if step.shows_open:
        yield "what is open is shown"


def _made(step: Step) -> str:
    return f"anew for each step, because {step.anew}" if step.anew else "once"


def _after(span: timedelta, what: str) -> str:
    return f"{spell_duration(span)} after {what}" if span else f"at {what}" if what == "its end" else f"when {what}"
