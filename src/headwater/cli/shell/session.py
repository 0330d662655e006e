"""A session of `headwater sql`: a project, and what each statement does with it."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import headwater as hw
from headwater import model
from headwater.cli.output import console, print_json, show_finding, show_value, table_lines
from headwater.cli.plan import show_description, show_plan
from headwater.cli.run import ended_by_signals
from headwater.cli.shell.edits import Edit, Editor
from headwater.cli.shell.live import follow
from headwater.convert.words import Reader, read_words
from headwater.errors import ArgumentRefused, CheckFailed, Finding, HeadwaterError
from headwater.plan import check
from headwater.project import Project
from headwater.sql import Headwater, parse_declarations, render
from headwater.staged import staged

HELP = """\
SELECT …;                      rows of views and tables, in the SQL of views
SELECT … EMIT CHANGES;         the same, and how they change, until Ctrl-C
EXPLAIN view | SELECT …;       how a view is executed, or would be
CREATE …;                      a declaration more: the patch to the files is shown and checked, and written after a yes
DROP kind name;                one less
ALTER kind name RENAME TO new | RENAME COLUMN a TO b | ADD COLUMN name TYPE | SET (option = 'value') | RESET (option)
  | AS SELECT …;               one otherwise
\\d                             what is declared
\\d name                        one of it, with its columns
\\? \\q                          this; the end"""
_SIGNS = {"insert": "+", "delete": "-"}
Confirm = Callable[[str], bool]


@dataclass
class Manner:
    """The manner of a session: JSON lines or tables, at most so many rows, and who confirms an edit."""

    as_records: bool
    limit: int
    confirm: Confirm
    pages: bool = False


class Session:
    """Carries statements out, one after the other. Close it when done."""

    def __init__(self, folder: Path, manner: Manner) -> None:
        self._folder = folder
        self.manner = manner
        self.project: Project = hw.open(folder)

    def close(self) -> None:
        """Let go of the project."""
        self.project.close()

    def execute(self, statement: str) -> None:
        """Carry a statement or a command with a backslash out."""
        if statement.startswith("\\"):
            self._command(statement)
            return
        words = Reader(read_words(statement, Headwater()), statement)
        if not words:
            return
        if words.take("EXPLAIN"):
            self._explain(words)
        elif words.sees("CREATE") or words.sees("DROP") or words.sees("ALTER"):
            self._edit(statement)
        elif [word.upper for word in words.words[-2:]] == ["EMIT", "CHANGES"]:
            self._follow(statement[: words.words[-2].start])
        else:
            rows = self.project.query(statement, limit=self.manner.limit)
            if self.manner.as_records:
                for row in rows.to_pylist():
                    print_json(row)
                return
            count = f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'}"
            self._page([*table_lines(rows.to_pylist(), rows.column_names), count])

    def _page(self, lines: list[str]) -> None:
        """Show lines, through a pager if a terminal can't show them at once."""
        if self.manner.pages and len(lines) >= console.size.height:
            pydoc.pager("\n".join(lines))
        else:
            console.file.write("\n".join(lines) + "\n")
            console.file.flush()

    def _follow(self, statement: str) -> None:
        with ended_by_signals() as stop:
            for change, row in follow(self.project, statement, self.manner.limit, stop):
                if self.manner.as_records:
                    print_json({"op": change, "row": row})
                else:
                    shown = " ".join(f"{name}={show_value(value)}" for name, value in row.items())
                    console.print(f"{_SIGNS[change]} {shown}", soft_wrap=True)

    # EXPLAIN and \d

    def _explain(self, words: Reader) -> None:
        text = words.rest()
        if len(words.words) == 2:
            explained = self.project.explain(words.words[1].text)
            if self.manner.as_records:
                print_json(explained.as_dict())
            else:
                show_description(str(explained))
            return
        name = "explained"
        parsed = parse_declarations(f"CREATE MATERIALIZED VIEW {name} AS {text}", "statement")
        declared = self.project.declared
        plan = check(replace(declared, declarations=(*declared.declarations, *parsed.declarations)))
        problems = [*parsed.findings, *(one for one in plan.findings if one.origin and one.origin.file == "statement")]
        errors = [one for one in problems if not isinstance(one, Finding) or one.severity == "error"]
        if errors:
            raise errors[0]
        show_plan(plan, name)

    def _command(self, command: str) -> None:
        word, _, name = command.rstrip(";").strip().partition(" ")
        if word == "\\?":
            console.print(HELP, markup=False)
        elif word == "\\d" and name:
            self._describe(name.strip())
        elif word == "\\d":
            records = [_listed(one) for one in self.project.declared.declarations]
            if self.manner.as_records:
                for record in records:
                    print_json(record)
            else:
                self._page(table_lines(records, ["name", "kind", "declared"]))
        else:
            raise ArgumentRefused(f'there is no command "{word}"', hint="\\? shows what there is.")

    def _describe(self, name: str) -> None:
        one = self.project.declared.find(name)
        if one is None:
            raise ArgumentRefused(f'the project has no declaration "{name}"', hint="\\d shows what is declared.")
        plan = self.project.check()
        columns: list[dict[str, object]] = []
        if isinstance(one, model.Topic):
            columns = [
                {"column": column.name, "type": model.spell_type(column.type), "comment": column.comment}
                for column in one.columns
            ]
        elif one.name in plan.views:
            columns = [
                {"column": column.name, "type": model.spell_type(column.type), "comment": None}
                for column in plan.views[one.name].columns
            ]
        if self.manner.as_records:
            print_json(_listed(one) | {"columns": columns})
            return
        try:
            text = render(one).splitlines()
        except HeadwaterError:
            text = [f"declared in Python: {one.origin}"]
        heads = [f"{_listed(one)['kind']} {one.name}, {one.origin}"]
        shown = table_lines(columns, ["column", "type", "comment"]) if columns else []
        self._page([*heads, "", *shown, "", *text])

    # CREATE, DROP, ALTER

    def _edit(self, statement: str) -> None:
        edit = Editor(self._folder, self.project.declared).edit(statement)
        if not edit.after:
            raise ArgumentRefused("nothing would change")
        if not self.manner.as_records:
            console.print(edit.patch(), markup=False, soft_wrap=True)
            for note in edit.notes:
                console.print(note, style="dim", markup=False)
        self._check(edit)
        if not self.manner.confirm(f"write {', '.join(edit.after)}? [y/N] "):
            console.print("nothing was written")
            return
        self._write(edit)
        self.project.close()
        self.project = hw.open(self._folder)
        if self.manner.as_records:
            print_json({"patch": edit.patch(), "files": list(edit.after), "notes": edit.notes})
        else:
            console.print(
                f"wrote {', '.join(edit.after)}; `headwater plan` tells what it changes, `headwater promote` "
                f"lets a run take it over"
            )

    def _check(self, edit: Edit) -> None:
        """Refuse an edit by which the project has errors that it didn't have; show what else is found."""
        before, after = self.project.declarations.edited(edit.after)
        known = {(finding.code(), finding.summary) for finding in before.findings}
        new = [finding for finding in after.findings if (finding.code(), finding.summary) not in known]
        if any(finding.severity == "error" for finding in new):
            raise CheckFailed(new)
        for finding in new if not self.manner.as_records else ():
            show_finding(finding)

    def _write(self, edit: Edit) -> None:
        """Write the files of an edit, unless somebody has changed one meanwhile."""
        for name, text in edit.before.items():
            path = self._folder / name
            if (path.read_text(encoding="utf-8") if path.exists() else "") != text:
                raise ArgumentRefused(
                    f'"{name}" has changed meanwhile', detail="Nothing was written.", hint="Try again."
                )
        for name, text in edit.after.items():
            with staged(self._folder / name) as aside:
                aside.write_text(text, encoding="utf-8")


def _listed(one: model.Declaration) -> dict[str, object]:
    kind = type(one).__name__.lower()
    if isinstance(one, model.View):
        kind = "materialized view" if one.materialized else "view"
    return {"name": one.name, "kind": kind, "declared": str(one.origin) if one.origin else None}
