"""The output of commands: tables for people, JSON lines for programs, errors on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headwater.errors import CheckFailed, Finding, HeadwaterError

if TYPE_CHECKING:
    from headwater.log.read import Commit

WIDE = 250
"""A table may be so wide where nobody looks at it: in a pipe or a file."""


def _console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


console, problems = _console(), _console(stderr=True)
EPOCH_YEAR = 1970
LONGEST_CELL = 160
LONGEST_KEPT = 24
"""So much of a cell is shown even in a narrow terminal."""
_COLOURS = {"error": "red", "warning": "yellow"}


def as_json(value: Any) -> Any:
    """A value as JSON has it, as it is over HTTP: instants in ISO 8601, exact decimals as text, bytes as base64."""
    from headwater.store.plain import plain_or_text

    return plain_or_text(value)


def print_json(record: Mapping[str, Any]) -> None:
    """One line of JSON on standard output."""
    try:
        line = json.dumps(record, default=as_json, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that JSON doesn't have
        from headwater.store.plain import plain_value

        line = json.dumps(plain_value(dict(record)), default=as_json, ensure_ascii=False)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def show_rows(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Show records as a table."""
    if not console.quiet:
        console.file.write("".join(f"{line}\n" for line in table_lines(records, columns)))


def table_lines(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """The lines of a table of records: numbers to the right, an absent value as a dot; the last column has the rest."""
    records = list(records)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        values = [record[name] for record in records if record[name] is not None]
        numeric = bool(values) and all(isinstance(value, int | float | Decimal) for value in values)
        side: Literal["left", "right"] = "right" if numeric else "left"
        longest = max((Text.from_markup(show_value(value)).cell_len for value in values), default=0)
        kept = 0 if name == columns[-1] else min(LONGEST_KEPT, longest)
        table.add_column(name, justify=side, no_wrap=True, overflow="ellipsis", min_width=kept)
    for record in records:
        table.add_row(*(show_value(record[name]) for name in columns))
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]  # without the blanks behind the last column


def as_record(commit: Commit) -> dict[str, Any]:
    """A commit with stable field names."""
    earliest, latest = commit.times or (None, None)
    return {
        "commit": commit.number,
        "kind": commit.kind,
        "at": commit.at,
        "rows": commit.rows,
        "earliest": earliest,
        "latest": latest,
        "watermark": commit.watermark,
        "sources": list(commit.sources),
    }


def show_commits(commits: Iterable[Commit]) -> None:
    """Commits as a table, oldest first."""
    records = [as_record(commit) | {"sources": ", ".join(commit.sources)} for commit in commits]
    show_rows(records, ["commit", "kind", "at", "rows", "earliest", "latest", "watermark", "sources"])


def show_value(value: Any) -> str:
    """A value in a table's cell."""
    match value:
        case None:
            return "[dim]·[/]"
        case datetime():
            return show_instant(value)
        case str():
            return escape(value[:LONGEST_CELL])
        case bool() | date() | timedelta():
            return escape(str(value))
        case int():
            return f"{value:,}"
        case bytes():
            from headwater.store.plain import readable

            return escape(readable(value)[:LONGEST_CELL])
        case _:
            return escape(str(value))


def show_instant(at: datetime) -> str:
    """An instant in UTC, to the millisecond; a dot for the one before anything is known."""
    if at.year == EPOCH_YEAR:
        return "[dim]·[/]"
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def show_error(error: HeadwaterError, *, as_records: bool) -> None:
    """An error for a person, or its fields as JSON; on standard error either way."""
    if as_records:
        findings = error.findings if isinstance(error, CheckFailed) else (error,)
        for one in findings:
            sys.stderr.write(json.dumps(one.as_dict(), ensure_ascii=False) + "\n")
    elif isinstance(error, CheckFailed):
        for finding in error.findings:
            show_finding(finding, to=problems)
        problems.print(f"[red]{escape(error.summary)}[/]")
    else:
        where = f"{error.origin}: " if error.origin else ""
        problems.print(f"[red]error:[/] {escape(where)}{escape(str(error))}")


def show_finding(finding: Finding, line: str | None = None, to: Console = console) -> None:
    """A finding as compilers show them: the place, the reason, the line with a mark below it."""
    colour = _COLOURS[finding.severity]
    where = f"{finding.origin}: " if finding.origin else ""
    to.print(
        f"[bold]{escape(where)}[/][{colour}]{finding.severity}[/]: {escape(finding.summary)} [dim]({finding.code()})[/]"
    )
    if line is not None and finding.origin:
        mark = " " * (finding.origin.column - 1)
        to.print(f"    {escape(line.expandtabs(1))}\n    {mark}[{colour}]^[/]")
    for label, text in (("Detail", finding.detail), ("Hint", finding.hint)):
        if text:
            to.print(f"    [dim]{label}:[/] {escape(text)}")
