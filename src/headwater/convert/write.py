"""Drafts as text in the canonical spelling, and the check of what was written."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from headwater import model, sql
from headwater.convert.drafts import Column, Conversion, Draft, Outlet, Remark, Topic, View
from headwater.errors import Finding
from headwater.findings import SyntaxRefused
from headwater.plan import check
from headwater.sql import spell, spell_name, spell_text

_WIDTH = 118
_ENDLESS = ("unbounded-state", "unbounded-join", "no-watermark")
"""The findings that say that something would be kept for ever, which is what other systems do where nothing is said."""


def write(conversion: Conversion, file: str) -> tuple[str, tuple[Finding | SyntaxRefused, ...]]:
    """The text of all drafts, and what `headwater check` finds in it."""
    _let_keep(conversion)
    text = "\n\n".join(_write(draft) for draft in conversion.drafts)
    text = f"{text}\n" if text else ""
    return text, check_text(text, file)


def check_text(text: str, file: str) -> tuple[Finding | SyntaxRefused, ...]:
    """The findings of a project that consists of one text."""
    parsed = sql.parse_declarations(text, file)
    declared = model.Project(name="converted", declarations=model.assembled(parsed.declarations))
    return (*parsed.findings, *check(declared, parsed.refused).findings)


def _let_keep(conversion: Conversion) -> None:
    """Let views keep for ever what nothing else ends, as their system does; and show changes where nothing is final.

    Only what takes a finding away and brings no other is kept.
    """
    for view in [draft for draft in conversion.drafts if isinstance(draft, View) and draft.materialized]:
        before = _errors(conversion, view)
        if "retention" in view.options or not any(finding.code() in _ENDLESS for finding in before):
            continue
        length = conversion.retention or "forever"
        view.options["retention"] = length
        if len(_errors(conversion, view)) >= len(before):
            del view.options["retention"]
            continue
        said = f"It keeps rows for {length}, as table.exec.state.ttl says." if conversion.retention else (
            "It keeps every row for ever, as it did: retention = '30 days', for example, lets old ones go."
        )  # fmt: skip
        view.notes.append(said)


def _errors(conversion: Conversion, view: View) -> list[Finding | SyntaxRefused]:
    """The errors that are told of a view."""
    text = "\n\n".join(_write(draft) for draft in conversion.drafts)
    named = f'"{view.name}"'
    findings = check_text(text, "converted.sql")
    return [one for one in findings if named in one.summary and getattr(one, "severity", "error") == "error"]


def _write(draft: Draft) -> str:
    if isinstance(draft, Remark):
        return _comment([*_lines("Not carried over: " + " ".join(draft.notes)), *draft.name.splitlines()])
    notes = [line for note in draft.notes for line in _lines(f"Note: {note}")]
    above = f"{_comment(notes)}\n\n" if notes else ""
    said = f"{_comment(draft.comment.splitlines())}\n" if draft.comment else ""
    return f"{above}{said}{canonical(_declaration(draft))};"


def _lines(text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH - 3, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _comment(lines: Sequence[str]) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in lines)


def canonical(text: str) -> str:
    """A declaration in the canonical spelling; as it is, if it can't be read."""
    parsed = sql.parse_declarations(text, "converted.sql")
    if len(parsed.declarations) != 1:
        return text
    (declared,) = parsed.declarations
    return sql.render(replace(declared, comment=None))


def _declaration(draft: Draft) -> str:
    if isinstance(draft, Topic):
        return _topic(draft)
    if isinstance(draft, Outlet):
        head = f"CREATE OUTLET {spell_name(draft.name)} FROM {spell_name(draft.view)} TO {spell_text(draft.to)}"
        return f"{head}{_with(draft.options)}"
    assert isinstance(draft, View)
    kind = "MATERIALIZED VIEW" if draft.materialized else "VIEW"
    options = dict(draft.options) if draft.materialized else {}
    if draft.emit and draft.materialized:
        options["emit"] = draft.emit
    return f"CREATE {kind} {spell_name(draft.name)}{_with(options)} AS\n{spell(draft.query, pretty=True)}"


def _topic(topic: Topic) -> str:
    kind = "TABLE" if topic.primary_key else "STREAM"
    is_copied = topic.options.get("connector") == "postgres"
    if not topic.columns and is_copied:
        return f"CREATE TABLE {spell_name(topic.name)}{_with(topic.options)}"
    options = dict(topic.options)
    if kind == "TABLE":
        options.pop("key", None)
    lines = [_column(column) for column in topic.columns]
    if topic.time:
        delay = f" - {topic.delay}" if topic.delay else ""
        lines.append(f"WATERMARK FOR {spell_name(topic.time)} AS {spell_name(topic.time)}{delay}")
    if topic.primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(spell_name, topic.primary_key))})")
    body = ",\n  ".join(lines)
    return f"CREATE {kind} {spell_name(topic.name)} (\n  {body}\n){_with(options)}"


def _column(column: Column) -> str:
    required = " NOT NULL" if column.required else ""
    alias = f" ALIAS {spell_name(column.alias)}" if column.alias else ""
    comment = f" COMMENT {spell_text(column.comment)}" if column.comment else ""
    return f"{spell_name(column.name)} {column.type}{required}{alias}{comment}"


def _with(options: dict[str, str]) -> str:
    spelled = ", ".join(f"{name} = {spell_text(' '.join(value.split()))}" for name, value in options.items())
    return f"\nWITH ({spelled})" if spelled else ""
