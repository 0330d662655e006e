"""Pages: rows of a view in an answer, as JSON or as Arrow, and a tag that tells whether they are the same as before.

All of a page is read in one transaction of the store: the version, its position and the rows belong together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from fastapi import Response

from headwater.errors import StoreUnavailable
from headwater.operate.query import OpenView
from headwater.plan import PlannedView
from headwater.serve.encode import rows_to_json, to_json
from headwater.serve.feed import no_rows_yet
from headwater.serve.selection import Selection, read_selection
from headwater.serve.service import Service
from headwater.serve.streams import ARROW
from headwater.store import Position, Served

JSON = "application/json"
ANSWERS: dict[str, Any] = {
    "200": {"description": "Rows, and what they are true for.", "content": {kind: {} for kind in (JSON, *ARROW)}},
    "304": {"description": "The rows are those of the answer whose ETag is in If-None-Match."},
}
METADATA = b"headwater"
"""The key of an Arrow schema's metadata under which JSON says what an answer in JSON says beside its rows."""
_VERSION = version("headwater")


@dataclass(frozen=True)
class Asked:
    """The parts of a request that say which rows are wanted, as what, and which tags of them are known."""

    parameters: Sequence[tuple[str, str]]
    as_arrow: bool = False
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, parameters: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> Asked:
        """The rows that a request asks for.

        >>> Asked.of([("card", "c-7")], {"if-none-match": 'W/"1.17", "1.18"'}).known == {'"1.17"', '"1.18"'}
        True
        """
        tags = (tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(","))
        return cls(parameters, ARROW[0] in headers.get("accept", ""), frozenset(filter(None, tags)))

    def names_one(self, key: Sequence[str]) -> bool:
        """Tells whether a value of each column of a key is asked for, so that there is one row at most."""
        names = {name.lower() for name, _ in self.parameters}
        return bool(key) and "order" not in names and all(column.lower() in names for column in key)


def page(service: Service, view: PlannedView, asked: Asked) -> Response:
    """The answer to a request for rows of a view."""
    if not view.view.materialized:
        raise no_rows_yet(view.name)
    with service.queries.taken(), service.project.views.at_one_moment(view.name) as opened:
        if opened is None:
            raise no_rows_yet(view.name)
        return _page(opened, asked, service.settings.page_rows)


def page_at_once(service: Service, view: PlannedView, asked: Asked) -> Response | None:
    """The answer to a request for one row by its key, where it is faster read than another thread is asked to.

    None if it is not one row that is asked for, or could take longer. So it may be called by the loop that serves.
    """
    if not asked.names_one(view.key.columns) or not view.view.materialized:
        return None
    try:
        with service.project.views.at_one_moment(view.name, waits=False) as opened:
            if opened is None or not asked.names_one(opened.served.target.key):
                return None
            return _page(opened, asked, service.settings.page_rows)
    except StoreUnavailable:  # who may wait asks again, and tells what is the matter
        return None


def _page(opened: OpenView, asked: Asked, most: int) -> Response:
    target = opened.served.target
    selection = read_selection(target.columns, target.key, asked.parameters, most)
    tag = _tag(opened.served, asked, selection)
    if tag is not None and _is_known(tag, asked):
        return _unchanged(tag)
    body = (_in_arrow if asked.as_arrow else _in_json)(opened, selection)
    tag = tag or f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    if _is_known(tag, asked):
        return _unchanged(tag)
    return Response(body, 200, {"ETag": tag, "Vary": "Accept"}, ARROW[0] if asked.as_arrow else JSON)


def as_record(position: Position | None) -> dict[str, Any] | None:
    """A position with stable field names."""
    if position is None:
        return None
    return {"batch": position.batch, "commits": dict(position.commits), "watermark": position.watermark}


def _in_json(opened: OpenView, selection: Selection) -> bytes:
    columns, most = opened.served.target.shown, opened.engine.limits.answer_bytes
    rows, more = rows_to_json(columns, opened.plain(selection.rows()), selection.limit, most)
    end = b',"page":%d,"more":%s}' % (selection.page, b"true" if more else b"false")
    return b"".join((_heading(opened.served)[:-1], b',"rows":', rows, end))


def _in_arrow(opened: OpenView, selection: Selection) -> bytes:
    rows = opened.rows(selection.rows())
    end = to_json({"page": selection.page, "more": rows.num_rows > selection.limit})
    told = _heading(opened.served)[:-1] + b"," + end[1:]
    shown = rows.slice(0, selection.limit).replace_schema_metadata({METADATA: told})
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, shown.schema) as stream:
        stream.write_table(shown)
    return bytes(written.getvalue())


def _heading(served: Served) -> bytes:
    return _spelled(served.target.view, served.target.version, served.position)


@lru_cache(maxsize=1024)
def _spelled(view: str, number: int, position: Position | None) -> bytes:
    """The beginning of an answer in JSON; most answers between two batches have the same."""
    return to_json({"view": view, "version": number, "position": as_record(position)})


def _tag(served: Served, asked: Asked, selection: Selection) -> str | None:
    """The tag of an answer before its rows are read; None where the store doesn't tell its batches apart."""
    if served.position is None or served.written_at is None:
        return None
    digest = _digest(served.target.view, served.written_at, asked.as_arrow, selection.limit)
    return f'"{served.target.version}.{served.position.batch}-{digest}"'


@lru_cache(maxsize=1024)
def _digest(*told: str | datetime | bool | int) -> str:
    return hashlib.blake2b(repr((_VERSION, *told)).encode(), digest_size=6).hexdigest()


def _is_known(tag: str, asked: Asked) -> bool:
    return tag in asked.known or "*" in asked.known


def _unchanged(tag: str) -> Response:
    return Response(status_code=304, headers={"ETag": tag, "Vary": "Accept", "Cache-Control": "no-store"})
