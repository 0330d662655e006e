"""The prompt of `headwater sql`: lines with a history and completion, gathered to statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from headwater import model
from headwater.project import Project
from headwater.query.offered import FUNCTIONS, WORDS
from headwater.sql.source import tokenize

_VERBS = (
    "CREATE",
    "STREAM",
    "TABLE",
    "MATERIALIZED VIEW",
    "VIEW",
    "OUTLET",
    "DROP",
    "ALTER",
    "EXPLAIN",
    "EMIT CHANGES",
)
_KEPT = 1000


def statements(text: str) -> tuple[list[str], str]:
    """The statements of a text that are ended, each by a semicolon or as a line with a backslash; and what is left.

    >>> statements("SELECT ';' AS a; SELECT\\n1")
    (["SELECT ';' AS a"], 'SELECT\\n1')
    """
    ended: list[str] = []
    rest = text.lstrip()
    while rest:
        if rest.startswith("\\"):
            line, found, rest = rest.partition("\n")
            if not found and not line:
                break
            ended.append(line.strip())
        else:
            tokens, problem = tokenize(rest)
            end = next((token.start for token in tokens if token.text == ";" and rest[token.start] == ";"), None)
            if end is None or (problem is not None and problem.start < end):
                break
            ended.append(rest[:end].strip())
            rest = rest[end + 1 :]
        rest = rest.lstrip()
    return [one for one in ended if one], rest


class Names:
    """The names that can be completed: of declarations, their columns, functions and words."""

    def __init__(self, project: Project) -> None:
        plan = project.check()
        self._columns: dict[str, list[str]] = {}
        for one in project.declared.declarations:
            if isinstance(one, model.Topic):
                self._columns[one.name] = [column.name for column in one.columns]
            else:
                planned = plan.views.get(one.name)
                self._columns[one.name] = [column.name for column in planned.shown] if planned else []

    def of(self, text: str) -> list[str]:
        """The completions of a word, which may be `name.column`.

        Words follow the case in which one has begun.
        """
        before, dot, begun = text.rpartition(".")
        if dot:
            columns = next((found for name, found in self._columns.items() if name.lower() == before.lower()), [])
            return [f"{before}.{column}" for column in columns if column.lower().startswith(begun.lower())]
        names = [*self._columns, *dict.fromkeys(name for found in self._columns.values() for name in found)]
        words = [*WORDS, *_VERBS]
        spelled = words if text.isupper() else [word.lower() for word in words]
        every = dict.fromkeys([*names, *spelled, *(f"{function}(" for function in FUNCTIONS)])
        return [word for word in every if word.lower().startswith(text.lower())]


class Prompt:
    """Lines from a terminal: with a history in a file, and the Tab key."""

    def __init__(self, name: str, history: Path, names: Names) -> None:
        self.names = names
        self._name = name
        self._history = history
        self._readline: Any = None
        with suppress(ImportError):
            import readline

            self._readline = readline
            self._begin()

    def _begin(self) -> None:
        line = self._readline
        line.set_completer(lambda text, state: next(iter(self.names.of(text)[state : state + 1]), None))
        line.set_completer_delims(" \t\n,()=<>+-*/;")
        line.parse_and_bind("bind ^I rl_complete" if "libedit" in (line.__doc__ or "") else "tab: complete")
        line.set_history_length(_KEPT)
        with suppress(OSError):
            line.read_history_file(self._history)

    def close(self) -> None:
        """Keep the history."""
        if self._readline is not None:
            with suppress(OSError):
                self._history.parent.mkdir(parents=True, exist_ok=True)
                self._readline.write_history_file(self._history)

    def statements(self) -> Iterator[str]:
        """The statements that are typed, until the end of input or \\q. Ctrl-C gives up the one that is begun."""
        begun = ""
        while True:
            try:
                line = input(f"{self._name}{'->' if begun else '=>'} ")
            except EOFError:
                return
            except KeyboardInterrupt:
                begun = ""
                print()  # noqa: T201  the next prompt begins on a line of its own
                continue
            ended, begun = statements(f"{begun}\n{line}" if begun else f"{line}\n" if line.startswith("\\") else line)
            for statement in ended:
                if re.fullmatch(r"\\q;?", statement):
                    return
                yield statement
