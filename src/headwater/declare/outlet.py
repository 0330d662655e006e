"""Outlets."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from headwater import model
from headwater.declare.arguments import Duration, Names, caller, checked, read_duration, read_names, refuse_unknown


class OutletOptions(TypedDict, total=False):
    """The options of `outlet`."""

    envelope: model.Envelope
    format: Literal["json"]
    accumulation: model.Accumulation
    start: Literal["earliest", "latest"]
    registry: str | None
    key: Names
    brokers: str | None
    cluster: str
    per_request: int
    attempts: int
    timeout: Duration
    headers: str | None
    comment: str | None


def outlet(name: str, /, *, view: str | model.View, to: str, **options: Unpack[OutletOptions]) -> model.Outlet:
    """Declare an outlet: it sends what a view emits to the target that a URL names.

    >>> outlet("spend_out", view="spend_per_minute", to="kafka://spend", envelope="upsert").kind
    'kafka'
    """
    origin = caller()
    refuse_unknown("outlet", dict(options), OutletOptions, origin)
    values: dict[str, Any] = dict(options)
    if "key" in values:
        values["key"] = read_names(values["key"])
    if "timeout" in values:
        values["timeout"] = read_duration("timeout", values["timeout"], origin)
    named = view.name if isinstance(view, model.View) else view
    return checked(model.Outlet(name=name, view=named, to=to, **values), origin)
