"""Decoding: what users have, into rows of the declared types and dead letters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ArgumentRefused, NotUpcast, UnknownField, WrongType
from headwater.intake.chunk import Chunk
from headwater.intake.csv_lines import CsvLines
from headwater.intake.dead import NO_LETTERS, Letter, shorten, table_of
from headwater.intake.door import Objection, default_operations, objections
from headwater.intake.earlier import Earlier
from headwater.intake.identity import identities
from headwater.intake.json_lines import JsonLines
from headwater.intake.layout import Layout, layout_of
from headwater.intake.lines import LINES_AT_ONCE, pieces
from headwater.intake.messages import Messages, Poison, Readable, Records, Separated, Version
from headwater.intake.parsed import Parsed
from headwater.intake.records import read_records
from headwater.intake.resolve import misfits, resolve
from headwater.intake.rows import as_table, frame_rows, read_rows, read_table
from headwater.intake.values import describe_misfit
from headwater.log.counts import Counts, together
from headwater.model import Topic
from headwater.model.letter import DEAD

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Decoded:
    """`rows` in the topic's columns (and `_op`, `_id` where the topic has them); `dead` in those of `DEAD`.

    `unknown` says how many of the events had each field that no column declares.
    """

    rows: pa.Table
    dead: pa.Table
    unknown: Counts = field(default_factory=dict)


class Decoder:
    r"""Decodes for one topic; what can be known beforehand is worked out once, here.

    >>> from headwater.model import Column, Stream
    >>> decoder = Decoder(Stream(name="clicks", columns=(Column("page", pa.string()), Column("n", pa.int32()))))
    >>> decoded = decoder.decode([{"page": "/", "n": 1}, {"page": "/", "n": "one"}], source="web")
    >>> decoded.rows.to_pylist()
    [{'page': '/', 'n': 1}]
    >>> decoded.dead["reason"].to_pylist(), decoded.dead["position"].to_pylist()
    (['column "n" is "one", which doesn\'t fit INT'], ['rows[1]'])
    """

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self._layout = layout_of(topic)
        self._reads = _Reads(self._layout)
        self._earlier: dict[int, tuple[Earlier, _Reads]] = {}

    @property
    def schema(self) -> pa.Schema:
        """The columns of `Decoded.rows`. In a table's rows all but the key and the event time can be NULL."""
        return self._layout.schema

    def decode(
        self,
        data: Any,
        *,
        source: str | None = None,
        where: str = "rows",
        arrived_at: datetime | None = None,
        version: int | None = None,
    ) -> Decoded:
        """Rows and dead letters from `data`, in the order in which they came; each row becomes one or the other.

        `data` is a row (a mapping or a dataclass instance), an iterable of rows, an Arrow table or whatever exports
        itself as one (pandas, Polars), bytes or text of JSON lines, a `Chunk` of a file, or messages (`Readable`).
        `where` names it in the positions of dead letters. Event times are held against `arrived_at` if it is given.
        `version` is that of the data if it is an earlier one; messages may tell theirs themselves.
        """
        if version is not None and not isinstance(self._chosen(version), Poison):
            read = self._of_version(data, where, version)
        elif version is not None:
            raise ArgumentRefused(
                f'"{self.topic.name}" can\'t be given rows of version {version}',
                detail=f"It reads {self._versions_read}.",
                hint=f'Declare an upcast: @hw.upcast("{self.topic.name}", from_version={version}, columns={{…}}).',
            )
        else:
            read = self._told(data, where)
        done = [self._finish(parsed, source, arrived_at) for parsed in read]
        if len(done) == 1:
            return done[0]
        rows = pa.concat_tables([part.rows for part in done] or [self.schema.empty_table()]).combine_chunks()
        dead = pa.concat_tables([part.dead for part in done] or [NO_LETTERS]).combine_chunks()
        return Decoded(rows, dead, together(part.unknown for part in done))

    def _told(self, data: Any, where: str) -> Iterator[Parsed]:
        """The parts of data whose messages may tell their versions: run by run of one version."""
        versions = _versions(data)
        if versions is None or all(version == self.topic.version for version in versions):
            yield from self._reads.parse(data, where)
            return
        at = 0
        for version, run in groupby(versions):
            count = len(list(run))
            part = data.part(at, count)
            chosen = version if isinstance(version, Poison) else self._chosen(version)
            if isinstance(chosen, Poison):
                yield read_records(self._layout, Records(_messages(part), [chosen] * count), where)
            else:
                yield from self._of_version(part, where, chosen)
            at += count

    def _of_version(self, data: Any, where: str, version: int) -> Iterator[Parsed]:
        if version == self.topic.version:
            yield from self._reads.parse(data, where)
            return
        if version not in self._earlier:
            earlier = Earlier(self.topic, version)
            self._earlier[version] = earlier, _Reads(earlier.layout)
        earlier, reads = self._earlier[version]
        beside = dict(_messages(data).beside) if isinstance(data, Messages | Records | Separated) else {}
        for parsed in reads.parse(_only(data, earlier.layout), where):
            yield earlier.brought(parsed, beside)

    def _chosen(self, version: int) -> int | Poison:
        """The version, if it is one that is read."""
        known = {upcast.from_version for upcast in self.topic.upcasts}
        if version == self.topic.version or (version in known and version < self.topic.version):
            return version
        return Poison(NotUpcast, f"the event is of version {version}, and the topic reads {self._versions_read}")

    @property
    def _versions_read(self) -> str:
        known = sorted({*(upcast.from_version for upcast in self.topic.upcasts), self.topic.version})
        return f"version {known[0]}" if len(known) == 1 else f"versions {', '.join(map(str, known))}"

    def _finish(self, parsed: Parsed, source: str | None, arrived_at: datetime | None) -> Decoded:
        columns = resolve(self._layout, parsed)
        default_operations(self._layout, columns)
        raised = [*self._misfits(parsed), *_strange(parsed), *objections(self._layout, columns, arrived_at)]
        arrays = [column.values for column in columns]
        letters = parsed.letters
        if raised:
            mask = raised[0].mask
            for objection in raised[1:]:
                mask = pc.or_(mask, objection.mask)
            letters = letters + _letters(parsed, raised, pc.indices_nonzero(mask).to_pylist())
            kept = pc.invert(mask)
            arrays = [array.filter(kept) for array in arrays]
        ids = identities(self._layout, arrays)
        rows = pa.Table.from_arrays(arrays if ids is None else [*arrays, ids], schema=self.schema)
        return Decoded(rows, table_of(letters, source) if letters else NO_LETTERS, parsed.unknown.counts)

    def _misfits(self, parsed: Parsed) -> Iterator[Objection]:
        layout = self._layout
        for at, bad in misfits(layout, parsed):
            yield _misfit(parsed, layout.names[at], layout.kinds[at], bad)


class _Reads:
    """Reads whatever users have by the layout of one version of a topic."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._json = JsonLines(layout)
        self._csv = CsvLines(layout)

    def parse(self, data: Any, where: str) -> Iterator[Parsed]:
        """The rows of data in the layout's columns, and letters for what can't be read."""
        if type(data) is dict:
            yield read_rows(self._layout, [data], where)
        elif isinstance(data, Chunk):
            yield from self._chunk(data, where)
        elif isinstance(data, Messages):
            yield from (self._json.read_messages(part, where) for part in data.parts(LINES_AT_ONCE))
        elif isinstance(data, Records):
            yield read_records(self._layout, data, where)
        elif isinstance(data, Separated):
            yield self._csv.read_messages(data, where)
        elif isinstance(data, str):
            yield from self._lines(data.encode("utf-8", "surrogatepass"), where, 1)
        elif isinstance(data, bytes | bytearray | memoryview):
            yield from self._lines(bytes(data), where, 1)
        elif (table := as_table(data)) is not None:
            yield from read_table(self._layout, table, where)
        elif hasattr(data, "notna") and hasattr(data, "to_dict"):
            yield from self._rows(frame_rows(data), where)
        elif isinstance(data, Mapping) or (dataclasses.is_dataclass(data) and not isinstance(data, type)):
            yield read_rows(self._layout, [data], where)
        elif isinstance(data, Iterable):
            yield from self._rows(data if isinstance(data, Sequence) else list(data), where)
        else:
            raise ArgumentRefused(
                f'stream or table "{self._layout.topic}" can\'t be given a value of type {type(data).__name__}',
                hint="give rows as mappings, an Arrow table, a DataFrame, or JSON lines.",
            )

    def _rows(self, rows: Sequence[Any], where: str) -> Iterator[Parsed]:
        for first in range(0, len(rows), LINES_AT_ONCE):
            yield read_rows(self._layout, rows[first : first + LINES_AT_ONCE], where, first)

    def _lines(self, block: bytes, where: str, first: int) -> Iterator[Parsed]:
        for before, piece in pieces(block.removeprefix(_BYTE_ORDER_MARK) if first == 1 else block):
            yield self._json.read(piece, where, first + before)

    def _chunk(self, chunk: Chunk, where: str) -> Iterator[Parsed]:
        if isinstance(chunk.data, pa.Table):
            yield from read_table(self._layout, chunk.data, where, chunk.first)
        elif isinstance(chunk.data, bytes):
            yield from self._lines(chunk.data, where, chunk.first)
        elif isinstance(chunk.data, list):
            yield read_rows(self._layout, chunk.data, where, chunk.first, numbered=True)
        else:
            yield from self._csv.read(chunk, where)


def _messages(data: Readable) -> Messages:
    return data if isinstance(data, Messages) else data.messages


def _versions(data: Any) -> Sequence[Version] | None:
    return _messages(data).versions if isinstance(data, Messages | Records | Separated) else None


def _only(data: Any, layout: Layout) -> Any:
    """The data without columns from beside it that an earlier version doesn't have."""
    if not isinstance(data, Messages | Records | Separated) or not _messages(data).beside:
        return data
    messages = _messages(data)
    kept = replace(messages, beside={name: one for name, one in messages.beside.items() if name in layout.names})
    return kept if isinstance(data, Messages) else replace(data, messages=kept)


def _misfit(parsed: Parsed, name: str, kind: pa.DataType, bad: pa.Array) -> Objection:
    def reason(row: int) -> str:
        return describe_misfit(name, parsed.originals.value(row, name), kind, shorten)

    return Objection(bad, WrongType, reason)


def _strange(parsed: Parsed) -> Iterator[Objection]:
    """Objects to the rows with fields that no column declares, where the topic takes none."""
    named, originals = parsed.unknown.named, parsed.originals
    if not named:
        return

    def reason(row: int) -> str:
        names = ", ".join(shorten(name) for name in named[originals.index(row)])
        return f"no column declares the {'fields' if ', ' in names else 'field'} {names}"

    count = len(parsed.columns[0].values)
    yield Objection(pa.array([originals.index(row) in named for row in range(count)], pa.bool_()), UnknownField, reason)


def _letters(parsed: Parsed, objections: Sequence[Objection], rows: Sequence[int]) -> list[Letter]:
    """One letter per row, whose reason names every objection to it."""
    letters, originals = [], parsed.originals
    for row in rows:
        raised = [objection for objection in objections if objection.mask[row].as_py()]
        reason = "; ".join(objection.reason(row) for objection in raised)
        letters.append(
            Letter(originals.index(row), originals.content(row), reason, raised[0].error, originals.position(row))
        )
    return letters


__all__ = ["DEAD", "Decoded", "Decoder"]
