"""Outlets: whether the view that one names can be sent in the way that it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from headwater import model
from headwater.errors import Finding
from headwater.findings import OutletRefused, UnknownColumn, UnknownName
from headwater.plan.additive import not_additive
from headwater.plan.context import is_refused
from headwater.plan.planned import PlannedOutlet, PlannedView
from headwater.sql.refusal import did_you_mean

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The names that Avro and Protobuf take."""


def check_outlets(
    project: model.Project, views: Mapping[str, PlannedView], findings: list[Finding], refused: Collection[str] = ()
) -> dict[str, PlannedOutlet]:
    """The outlets of a project by name; adds what is wrong with them to the findings.

    `refused` are the names, in lower case, of what couldn't be read: what an outlet of it would send isn't known.
    """
    known = {name.lower(): view for name, view in views.items()}
    planned: dict[str, PlannedOutlet] = {}
    for outlet in project.outlets:
        view = known.get(outlet.view.lower())
        if view is None:
            findings += [_unknown(outlet, project)] if outlet.view.lower() not in refused else []
            continue
        if is_refused(view.name, findings):
            continue  # what the view gives isn't known
        objections = [*_about_view(outlet, view), *_about_key(outlet, view), *_about_format(outlet, view)]
        findings += objections
        if not objections:
            planned.setdefault(outlet.name, PlannedOutlet(outlet, view, _named(outlet.key, view) or view.identity))
    return planned


def is_only_added_to(view: PlannedView) -> bool:
    """Tells whether a row of the view stays as it is once it has been written."""
    return view.emit is model.Emit.FINAL or not view.identity


def _unknown(outlet: model.Outlet, project: model.Project) -> Finding:
    declared = project.find(outlet.view)
    names = [view.name for view in project.views if view.materialized]
    if isinstance(declared, model.Topic):
        what, hint = (
            f"a {type(declared).__name__.lower()}",
            f"Send a view: CREATE MATERIALIZED VIEW … FROM {outlet.view}.",
        )
        return _refused(outlet, f'sends "{outlet.view}", which is {what}', hint=hint)
    hint = did_you_mean(outlet.view, names) or f"Materialized views are {', '.join(names) or 'none'}."
    return UnknownName(
        f'outlet "{outlet.name}" sends "{outlet.view}", which is declared nowhere',
        detail="No view has that name.",
        hint=hint,
        origin=outlet.view_origin or outlet.origin,
        outlet=outlet.name,
    )


def _about_view(outlet: model.Outlet, view: PlannedView) -> list[Finding]:
    if not view.view.materialized:
        hint = "Declare it with CREATE MATERIALIZED VIEW."
        return [_refused(outlet, f'sends "{view.name}", which isn\'t materialized and so has no changes', hint=hint)]
    if outlet.accumulation == "discard":
        return _about_totals(outlet, view)
    if outlet.envelope == "row" and not is_only_added_to(view):
        return [
            _refused(
                outlet,
                f'sends rows of "{view.name}", which change',
                detail="Whoever gets a row could not tell which one it replaces, nor that one is gone.",
                hint="Say envelope = 'upsert', 'change' or 'debezium', or let the view say emit = 'final'.",
            )
        ]
    if outlet.envelope == "upsert" and not view.identity:
        return [
            _refused(
                outlet,
                f'upserts rows of "{view.name}", which have no key',
                detail="Nothing tells its rows apart: they are only added.",
                hint="Say envelope = 'row', or let the view say key = '…'.",
            )
        ]
    return []


def _about_totals(outlet: model.Outlet, view: PlannedView) -> list[Finding]:
    """The objections to sending differences instead of totals."""
    if outlet.envelope != "row":
        what = f"discards totals of \"{view.name}\" and sends envelope = '{outlet.envelope}'"
        detail = "A difference is a row of its own: it replaces nothing."
        return [_refused(outlet, what, detail=detail, hint="Say envelope = 'row'.")]
    column = None if is_only_added_to(view) else not_additive(view)
    if column is not None:
        return [
            _refused(
                outlet,
                f'discards totals of "{view.name}", whose column "{column}" doesn\'t add up',
                detail="Counts and sums of integers and decimals do; of anything else a difference says nothing.",
                hint="Send accumulation = 'accumulate', or a view with such columns and its key.",
            )
        ]
    return []


def _about_key(outlet: model.Outlet, view: PlannedView) -> list[Finding]:
    columns = [column.name for column in view.columns]
    for name in outlet.key:
        if name.lower() not in {column.lower() for column in columns}:
            has = f'View "{view.name}" has the columns {", ".join(columns)}.'
            summary = f'outlet "{outlet.name}" has a key with an unknown column "{name}"'
            return [UnknownColumn(summary, detail=has, hint=did_you_mean(name, columns), origin=outlet.origin)]
    if outlet.envelope == "upsert" and outlet.key and set(_named(outlet.key, view)) != set(view.identity):
        return [
            _refused(
                outlet,
                f'upserts rows of "{view.name}" under a key that isn\'t theirs',
                detail=f"They are told apart by {', '.join(view.identity)}.",
                hint="Leave key out.",
            )
        ]
    return []


def _about_format(outlet: model.Outlet, view: PlannedView) -> list[Finding]:
    """The objections to a schema for the view's columns."""
    if outlet.format == "json":
        if outlet.registry is None:
            return []
        return [_refused(outlet, "names a registry, and JSON has no schema", hint="Say format = 'json-schema'.")]
    if outlet.kind != "kafka":
        return [_refused(outlet, f"sends '{outlet.format}' to what isn't Kafka", hint="Say format = 'json'.")]
    for column in view.columns:
        if outlet.format != "json-schema" and not _NAME.fullmatch(column.name):
            what = f"sends '{outlet.format}', which has no name for the column \"{column.name}\""
            return [_refused(outlet, what, hint="Name it in letters, digits and _, or say format = 'json-schema'.")]
        if not _has_schema(outlet.format, column.type):
            kind = model.spell_type(column.type)
            what = f"sends '{outlet.format}', which has no type for \"{column.name}\" {kind}"
            return [_refused(outlet, what, hint="Cast it in the view, or say format = 'json'.")]
    return []


def _has_schema(form: str, kind: pa.DataType) -> bool:
    """Tells whether values of a type can be written in a format."""
    if pa.types.is_struct(kind):
        named = form == "json-schema" or all(_NAME.fullmatch(part.name) for part in kind)
        return bool(named) and all(_has_schema(form, part.type) for part in kind)
    if pa.types.is_list(kind):
        return form != "protobuf" and _has_schema(form, kind.value_type)
    if pa.types.is_map(kind):
        return form != "protobuf" and pa.types.is_string(kind.key_type) and _has_schema(form, kind.item_type)
    return model.can_be_logged(kind)


def _named(key: tuple[str, ...], view: PlannedView) -> tuple[str, ...]:
    """The columns as the view spells them."""
    spelled = {column.name.lower(): column.name for column in view.columns}
    return tuple(spelled[name.lower()] for name in key)


def _refused(outlet: model.Outlet, what: str, **reason: Any) -> OutletRefused:
    return OutletRefused(f'outlet "{outlet.name}" {what}', origin=outlet.origin, outlet=outlet.name, **reason)
