"""Model to text: the canonical declaration, which reads back as the same value."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta

from headwater import model
from headwater.errors import ArgumentRefused
from headwater.sql.interval import spell_interval
from headwater.sql.options import OPTIONS
from headwater.sql.query import parse_query
from headwater.sql.spelling import spell, spell_name, spell_text
from headwater.sql.types import sqlglot_type

_PLAIN = re.compile(r"\w+")


def render(declaration: model.Declaration) -> str:
    """The declaration as SQL, without a semicolon; options that have their default are left out.

    >>> from headwater.sql import parse_declarations
    >>> text = "create view big as select * from orders where amount > 100"
    >>> print(render(parse_declarations(text, "views.sql").declarations[0]))
    CREATE VIEW big AS
    SELECT
      *
    FROM orders
    WHERE
      amount > 100
    """
    match declaration:
        case model.View():
            return _view(declaration)
        case model.Function():
            return _function(declaration)
        case model.Outlet():
            return _outlet(declaration)
        case model.Upcast():
            raise ArgumentRefused(f'the upcast of "{declaration.topic}" has no text in SQL')
        case _:
            return _topic(declaration)


def _topic(topic: model.Stream | model.Table) -> str:
    kind = "TABLE" if isinstance(topic, model.Table) else "STREAM"
    parts = [_column(column) for column in topic.columns]
    if topic.time is not None and topic.watermark is not None:
        parts.append(f"WATERMARK FOR {spell_name(topic.time)} AS {_rule(topic.time, topic.watermark)}")
    if isinstance(topic, model.Table):
        parts.append(f"PRIMARY KEY ({_names(topic.primary_key)})")
    parts += [f"PERSONAL ({_names(part.columns)}) OF {spell_name(part.subject)}" for part in topic.personal]
    body = ",\n  ".join(parts)
    head = f"CREATE {kind} {spell_name(topic.name)} (\n  {body}\n)"
    return f"{head}{_comment(topic.comment)}{_with(_topic_options(topic))}"


def _column(column: model.Column) -> str:
    clauses = "" if column.nullable else " NOT NULL"
    if column.default is not None:
        clauses += f" DEFAULT {spell_text(column.default)}"
    if column.aliases:
        clauses += f" ALIAS ({_names(column.aliases)})"
    return f"{spell_name(column.name)} {spell(sqlglot_type(column.type))}{clauses}{_comment(column.comment)}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(spell_name, names))


def _rule(time: str, watermark: model.WatermarkStrategy) -> str:
    match watermark:
        case model.Punctuated(column):
            return spell_name(column)
        case model.Quantile(share, least, most):
            return f"{spell_name(time)} - QUANTILE({share!r}, {spell_interval(least)}, {spell_interval(most)})"
        case model.Bounded(delay):
            return f"{spell_name(time)} - {spell_interval(delay)}" if delay else spell_name(time)


def _topic_options(topic: model.Stream | model.Table) -> dict[str, str]:
    options = {}
    if isinstance(topic, model.Stream):
        options = {"key": _listed(topic.key), "unique": "*" if topic.unique == model.CONTENT else _listed(topic.unique)}
        options["within"] = model.spell_duration(topic.within) if topic.within is not None else ""
    if topic.idle is not None:
        options["idle"] = model.spell_duration(topic.idle)
    if topic.max_ahead != model.Topic.max_ahead:
        options["max_ahead"] = "none" if topic.max_ahead is None else model.spell_duration(topic.max_ahead)
    options["version"] = str(topic.version) if topic.version != 1 else ""
    options["unknown_fields"] = topic.unknown_fields if topic.unknown_fields != "ignore" else ""
    return options if topic.intake is None else options | _intake_options(topic.intake)


def _intake_options(intake: model.Intake) -> dict[str, str]:
    options = {"connector": intake.connector}
    if isinstance(intake, model.Connector):
        options |= dict(intake.options)
    for part in fields(intake):
        if isinstance(intake, model.Connector) and part.name in ("name", "options"):
            continue
        value = getattr(intake, part.name)
        if value == part.default or (value is None and part.name != "max_dead"):
            continue
        match value:
            case None:
                options[part.name] = "none"
            case float():
                options[part.name] = f"{value * 100:.10g}%"
            case timedelta():
                options[part.name] = model.spell_duration(value)
            case datetime():
                options[part.name] = value.isoformat()
            case tuple() if part.name == "start":
                options[part.name] = ", ".join(f"{partition}:{offset}" for partition, offset in value)
            case tuple():
                options[part.name] = _listed(value)
            case _:
                options[part.name] = value
    return options


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`" for name in names)


def _comment(comment: str | None) -> str:
    return f" COMMENT {spell_text(comment)}" if comment else ""


def _with(options: dict[str, str]) -> str:
    spelled = ", ".join(f"{name} = {spell_text(value)}" for name, value in options.items() if value)
    return f"\nWITH ({spelled})" if spelled else ""


def _view(view: model.View) -> str:
    if not isinstance(view.query, model.SqlQuery):
        raise ArgumentRefused(f'view "{view.name}" is written in Python', detail="It has no text in SQL.")
    kind = "MATERIALIZED VIEW" if view.materialized else "VIEW"
    head = f"CREATE {kind} {spell_name(view.name)}{_comment(view.comment)}{_with(_view_options(view))}"
    return f"{head} AS\n{spell(parse_query(model.SqlQuery(view.query.sql)), pretty=True)}"


def _view_options(view: model.View) -> dict[str, str]:
    durations = {"grace": view.grace or None, "every": view.every}
    durations |= {"horizon": view.horizon, "retention": view.retention}
    options = {name: model.spell_duration(length) for name, length in durations.items() if length is not None}
    options["late"] = "" if view.late == "keep" else view.late
    options["emit"] = view.emit.value if view.emit else ""
    options |= {"store": view.store or "", "key": _listed(view.key), "execution": view.execution or ""}
    return options | _serving_options(view.serving)


def _serving_options(serving: model.Serving) -> dict[str, str]:
    return {
        "layout": serving.layout or "",
        "score": serving.score or "",
        "group": _listed(serving.group),
        "ttl": "" if serving.ttl is None else model.spell_duration(serving.ttl),
        "index": "; ".join(map(_listed, serving.indexes)),
    }


def _outlet(outlet: model.Outlet) -> str:
    head = f"CREATE OUTLET {spell_name(outlet.name)} FROM {spell_name(outlet.view)} TO {spell_text(outlet.to)}"
    return f"{head}{_comment(outlet.comment)}{_with(_outlet_options(outlet))}"


def _outlet_options(outlet: model.Outlet) -> dict[str, str]:
    """Those that differ from their defaults, as WITH takes them."""
    options = {}
    for option in OPTIONS["outlet"]:
        value = getattr(outlet, option.name)
        if value != getattr(model.Outlet, option.name):
            options[option.name] = _option(value)
    return options


def _option(value: object) -> str:
    if isinstance(value, timedelta):
        return model.spell_duration(value)
    return _listed(value) if isinstance(value, tuple) else str(value)


def _function(function: model.Function) -> str:
    if not isinstance(function.body, str):
        raise ArgumentRefused(f'function "{function.name}" is written in Python', detail="It has no text in SQL.")
    parameters = ", ".join(_column(parameter) for parameter in function.parameters)
    head = f"CREATE FUNCTION {spell_name(function.name)}({parameters})"
    returns = f"RETURNS {spell(sqlglot_type(function.returns))}{_comment(function.comment)}"
    return f"{head} {returns}\nRETURN {function.body}"
