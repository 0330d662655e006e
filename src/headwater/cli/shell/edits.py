"""Statements that change declarations, as edits of the project's files: CREATE, DROP, ALTER.

Files stay the truth: an *edit* is the text of a file as it would be, to be shown, checked and written.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlglot import exp

from headwater import model
from headwater.convert.options import read_options
from headwater.convert.words import Reader, Word, read_words
from headwater.errors import ArgumentRefused
from headwater.model import SqlQuery
from headwater.sql import Headwater, parse_declarations, parse_query, spell_name, spell_text

_HOMES = {"STREAM": "streams.sql", "TABLE": "streams.sql", "SOURCE": "streams.sql"}
_KINDS: Mapping[str, type[model.Declaration]] = {
    "STREAM": model.Stream,
    "SOURCE": model.Stream,
    "TABLE": model.Table,
    "VIEW": model.View,
    "FUNCTION": model.Function,
    "OUTLET": model.Outlet,
}
_CLAUSES = ("WATERMARK", "PRIMARY", "PERSONAL")
_FORMS = (
    "RENAME TO new, RENAME COLUMN a TO b, ADD COLUMN name TYPE, SET (option = 'value'), RESET (option), AS SELECT …"
)


@dataclass
class Edit:
    """Files as they are, and as they would be; `notes` say what else follows."""

    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def patch(self) -> str:
        """The difference, as patches show it."""
        lines: list[str] = []
        for name, text in self.after.items():
            old = self.before.get(name, "")
            lines += difflib.unified_diff(
                old.splitlines(), text.splitlines(), f"a/{name}" if old else "/dev/null", f"b/{name}", lineterm=""
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class _Spot:
    """A declaration in a file: the words of its statement."""

    file: str
    text: str
    words: tuple[Word, ...]

    def reader(self) -> Reader:
        """A walk over the words, which begins behind the name."""
        reader = Reader(self.words, self.text)
        while not reader.take_any(*_KINDS):
            reader.next()
        reader.take("IF", "NOT", "EXISTS")
        reader.next()
        return reader

    def replaced(self, start: int, end: int, text: str) -> str:
        """The file with another text in the place of a part."""
        return self.text[:start] + text + self.text[end:]


class Editor:
    """Edits of the files of a project."""

    def __init__(self, folder: Path, declared: model.Project) -> None:
        self._folder = folder
        self._declared = declared

    def edit(self, statement: str) -> Edit:
        """The edit that a statement asks for."""
        words = Reader(read_words(statement, Headwater()), statement)
        if words.take("CREATE"):
            return self._create(statement, words)
        if words.take("DROP"):
            return self._drop(words)
        words.expect("ALTER")
        return self._alter(words)

    # CREATE and DROP

    def _create(self, statement: str, words: Reader) -> Edit:
        parsed = parse_declarations(statement, "statement")
        problem = next((one for one in parsed.findings if getattr(one, "severity", "error") == "error"), None)
        if problem is not None:
            raise problem
        kind = next(word.upper for word in words.words if word.upper in _KINDS)
        file = self._home(_KINDS[kind]) or _HOMES.get(kind, "views.sql")
        path = self._folder / file
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        gap = "\n\n" if before.strip() else ""
        return Edit({file: before}, {file: f"{before.rstrip()}{gap}{statement.strip()};\n"})

    def _home(self, kind: type[model.Declaration]) -> str | None:
        """The file where most declarations of a kind are."""
        kinds = (model.Topic,) if issubclass(kind, model.Topic) else (kind,)
        files = [one.origin.file for one in self._declared.declarations if isinstance(one, kinds) and one.origin]
        homes = [file for file in files if file.endswith(".sql")]
        return max(homes, key=homes.count) if homes else None

    def _drop(self, words: Reader) -> Edit:
        spot = self._named(words)
        start = spot.words[0].start
        lines = spot.text[:start].split("\n")
        while len(lines) > 1 and lines[-2].lstrip().startswith("--"):  # the comment goes with it
            del lines[-2]
        head = "\n".join(lines)
        tail = spot.text[_behind(spot) :].lstrip("\n")
        parts = [part for part in (head.rstrip(), tail.rstrip()) if part]
        return Edit({spot.file: spot.text}, {spot.file: "\n\n".join(parts) + "\n" if parts else ""})

    # ALTER

    def _alter(self, words: Reader) -> Edit:
        spot = self._named(words)
        forms: Mapping[tuple[str, ...], Callable[[_Spot, Reader], Edit]] = {
            ("RENAME", "TO"): self._rename,
            ("RENAME", "COLUMN"): self._rename_column,
            ("ADD", "COLUMN"): self._add_column,
            ("SET", "("): self._set,
            ("RESET", "("): self._reset,
            ("AS",): self._replace_query,
        }
        for form, change in forms.items():
            if words.sees(*form):
                words.at += len(form) - (form[-1] == "(")
                return change(spot, words)
        raise ArgumentRefused("ALTER can't be read", hint=f"There is ALTER … name {_FORMS}.")

    def _rename(self, spot: _Spot, words: Reader) -> Edit:
        new, name = words.next().text, spot.reader()
        old = name.words[name.at - 1]
        if isinstance(self._declared.find(old.text), model.Topic):
            raise ArgumentRefused(
                f'"{old.text}" can\'t be renamed',
                detail="Its log is kept under its name, and would begin anew under another one.",
                hint=f"Give it another name to be read by: CREATE VIEW {new} AS SELECT * FROM {old.text}.",  # noqa: S608  a hint
            )
        edit = Edit(notes=[f"{new} is built from the log; {old.text} is no longer kept up to date."])
        for file, places in self._places(old.text, spot, old).items():
            text = (self._folder / file).read_text(encoding="utf-8")
            edit.before[file] = text
            for start, end in sorted(places, reverse=True):
                text = text[:start] + spell_name(new) + text[end:]
            edit.after[file] = text
        return edit

    def _places(self, name: str, spot: _Spot, declared: Word) -> dict[str, set[tuple[int, int]]]:
        """The places where a name stands: in its declaration, and in the statements that read it."""
        places: dict[str, set[tuple[int, int]]] = {spot.file: {(declared.start, declared.end)}}
        for one in self._declared.declarations:
            if one.origin is None or not one.origin.file.endswith(".sql"):
                continue
            if isinstance(one, model.View) and isinstance(one.query, SqlQuery) and one.query.written:
                statement = self._spot(one)
                offset = statement.text.index(one.query.written, statement.words[0].start)
                found = {(start + offset, end + offset) for start, end in _reads(one.query, name)}
            elif isinstance(one, model.Outlet) and one.view.lower() == name.lower():
                reader = self._spot(one).reader()
                reader.expect("FROM")
                word = reader.next()
                found = {(word.start, word.end)}
            else:
                continue
            if found:
                places.setdefault(one.origin.file, set()).update(found)
        return places

    def _rename_column(self, spot: _Spot, words: Reader) -> Edit:
        old = words.next().text
        words.expect("TO")
        new = words.next().text
        part = next((part for part in _columns(spot) if part.words[0].text.lower() == old.lower()), None)
        if part is None:
            raise ArgumentRefused(f'"{old}" is no column of it')
        name, last = part.words[0], part.words[-1]
        written = spot.text[name.end : last.end]
        if any(word.upper == "ALIAS" for word in part.words):
            raise ArgumentRefused(f'"{old}" has aliases already', hint=f"Edit {spot.file}: ALIAS ({old}, …).")
        text = spot.replaced(name.start, last.end, f"{spell_name(new)}{written} ALIAS {spell_name(old)}")
        return Edit(
            {spot.file: spot.text}, {spot.file: text}, [f"{old} stays readable in events; queries name it {new}."]
        )

    def _add_column(self, spot: _Spot, words: Reader) -> Edit:
        columns = _columns(spot)
        if not columns:
            raise ArgumentRefused("its columns are not written out", hint=f"Edit {spot.file}.")
        last = columns[-1].words[-1]
        margin = spot.text[: columns[-1].words[0].start].rpartition("\n")[2]
        gap = f"\n{margin}" if not margin.strip() else " "
        return Edit({spot.file: spot.text}, {spot.file: spot.replaced(last.end, last.end, f",{gap}{words.rest()}")})

    def _set(self, spot: _Spot, words: Reader) -> Edit:
        given = {name: spell_text(value) for name, value in read_options(words.group()).items()}
        return self._with(spot, lambda options: {**options, **given})

    def _reset(self, spot: _Spot, words: Reader) -> Edit:
        group = words.group()
        gone = {part.next().text.lower() for part in group.parts()} if group else set()
        return self._with(spot, lambda options: {name: value for name, value in options.items() if name not in gone})

    def _with(self, spot: _Spot, change: Callable[[dict[str, str]], dict[str, str]]) -> Edit:
        """Change the options of a declaration, where they stand."""
        reader = spot.reader()
        at = reader.find("WITH", "(")
        end_of_head = reader.find("AS")
        if at is not None and (end_of_head is None or at < end_of_head):
            reader.at = at + 1
            first = reader.words[at].start
            group = reader.group()
            last = reader.words[reader.at - 1].end
            parts = group.parts() if group else []
            options = {
                part.words[0].text.lower(): part.text[part.words[2].start : part.words[-1].end] for part in parts
            }
        else:
            behind = reader.words[end_of_head - 1] if end_of_head is not None else reader.words[-1]
            first = last = behind.end
            options = {}
        options = change(options)
        spelled = ", ".join(f"{name} = {value}" for name, value in options.items())
        gap = "\n" if first == last else ""
        if not spelled:  # nor what parted it from what is before
            first = len(spot.text[:first].rstrip())
        text = spot.replaced(first, last, f"{gap}WITH ({spelled})" if spelled else "")
        return Edit({spot.file: spot.text}, {spot.file: text})

    def _replace_query(self, spot: _Spot, words: Reader) -> Edit:
        reader = spot.reader()
        at = reader.find("AS")
        if at is None:
            raise ArgumentRefused("only a view has a query")
        text = spot.replaced(reader.words[at].end, spot.words[-1].end, f"\n{words.rest()}")
        return Edit({spot.file: spot.text}, {spot.file: text})

    # Where a declaration is

    def _named(self, words: Reader) -> _Spot:
        """The declaration that a statement names, behind its kind."""
        words.take("MATERIALIZED")
        kind = words.take_any(*_KINDS)
        words.take("IF", "EXISTS")
        name = words.next().text
        one = self._declared.find(name)
        kinds = model.Topic if kind in _HOMES else _KINDS.get(kind)
        if one is None or (kinds is not None and not isinstance(one, kinds)):
            raise ArgumentRefused(f'the project has no {kind.lower() or "declaration"} "{name}"')
        return self._spot(one)

    def _spot(self, one: model.Declaration) -> _Spot:
        origin = one.origin
        if origin is None or not origin.file.endswith(".sql"):
            where = f"{origin}" if origin else "Python"
            raise ArgumentRefused(f'"{one.name}" is declared in Python', hint=f"Edit it there: {where}.")
        text = (self._folder / origin.file).read_text(encoding="utf-8")
        start = sum(len(line) for line in text.splitlines(keepends=True)[: origin.line - 1]) + origin.column - 1
        words: list[Word] = []
        for word in read_words(text, Headwater()):
            if word.start >= start and word.upper == ";":
                break
            if word.start >= start:
                words.append(word)
        return _Spot(origin.file, text, tuple(words))


def _behind(spot: _Spot) -> int:
    """The offset behind a statement and its semicolon."""
    end = spot.words[-1].end
    rest = spot.text[end:]
    return end + len(rest) - len(rest.lstrip().removeprefix(";")) if rest.lstrip().startswith(";") else end


def _columns(spot: _Spot) -> list[Reader]:
    """The parts in the parentheses of a stream or table that declare columns."""
    group = spot.reader().group()
    parts: Iterable[Reader] = group.parts() if group else ()
    return [part for part in parts if part.words and part.words[0].upper not in _CLAUSES]


def _reads(query: SqlQuery, name: str) -> set[tuple[int, int]]:
    """The places in the text of a query where it names what it reads by a name."""
    tree = parse_query(query)
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    if name.lower() in own:
        return set()
    names = [table.this for table in tree.find_all(exp.Table) if table.name.lower() == name.lower()]
    aliases = {table.alias.lower() for table in tree.find_all(exp.Table) if table.alias}
    if name.lower() not in aliases:
        names += [column.args["table"] for column in tree.find_all(exp.Column) if column.table.lower() == name.lower()]
    spans = {(node.meta_get("start"), node.meta_get("end")) for node in names if isinstance(node, exp.Identifier)}
    return {(start, end + 1) for start, end in spans if start is not None and end is not None}
