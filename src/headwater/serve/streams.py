"""Routes of streams and tables: events in, dead letters out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from headwater.errors import ArgumentRefused, FormatRefused, TooLarge, UnreadableEvent
from headwater.intake import DEEPEST, read_stream
from headwater.intake.arrow_stream import BODY
from headwater.project.append import Receipt
from headwater.serve.access import Operates, Reads, Writes
from headwater.serve.encode import answer
from headwater.serve.service import Service
from headwater.serve.token import LogPosition, spell
from headwater.store.plain import readable

JSON = ("application/json",)
LINES = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
ARROW = ("application/vnd.apache.arrow.stream",)
MOST_EVENTS = BODY.rows
"""A body has so many events at most."""
_KEY = re.compile(r"(?P<producer>[\x21-\x7e]{1,200}):(?P<number>\d{1,18})")
_BLANKS = re.compile(r"[ \t\r\n]+")
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)
"""Tells where a value ends; its numbers, of whatever length, are read where their column is known."""
_BODY = {"content": {kind: {} for kind in (*JSON, LINES[0], *ARROW)}, "required": True}


def routes(service: Service) -> APIRouter:
    """The routes below /streams."""
    router = APIRouter(prefix="/streams", tags=["streams"])
    project = service.project

    @router.post("/{name}/events", openapi_extra={"requestBody": _BODY, "responses": _ANSWERS}, status_code=201)
    async def append(
        name: str, request: Request, access: Writes, source: str = "http", strict: bool = False
    ) -> Response:
        """Append events: a JSON object or array, JSON lines or an Arrow stream. The answered `token` is where they are.

        201 if all became rows, 207 if some are dead letters, 422 if all are; what is a dead letter is kept, and is not
        to be sent again. `Idempotency-Key: PRODUCER:NUMBER`, the number rising: the same one again appends nothing and
        is answered alike.
        """
        access.check_stream(name)
        topic = service.project.declarations.topic(name).name
        sequence = _sequence(request.headers.get("idempotency-key"))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        with service.appends.taken():
            body = await request.body()
            receipt = await run_in_threadpool(
                lambda: project.append(topic, _rows(kind, body), source=source, sequence=sequence, strict=strict)
            )
        shown = {field: getattr(receipt, field) for field in _RECEIPT}
        token = spell(service.project, LogPosition(topic, receipt.commit))
        return answer(shown | {"token": token} | _told(receipt), _STATUS[receipt.became])

    @router.get("/{name}/dead")
    def dead(name: str, access: Reads, limit: int = 100) -> Response:
        """The newest dead letters: bytes, reason, where they came from, when."""
        access.check_stream(name)
        letters = service.project.dead(name)
        count = max(1, min(limit, service.settings.query_rows))
        newest = letters.slice(max(0, letters.num_rows - count)).to_pylist()
        return answer({"topic": name, "count": letters.num_rows, "letters": [_letter(letter) for letter in newest]})

    @router.post("/{name}/redrive")
    def redrive(name: str, access: Operates, error: str | None = None) -> Response:
        """Decode dead letters again with today's declaration, and append what can be read now, each once.

        `error` chooses those of one class, such as `wrong-type`.
        """
        access.check_stream(name)
        with service.appends.taken():
            return answer(asdict(service.project.redrive(name, error=error)))

    @router.get("/{name}/log")
    def log(name: str, access: Reads, last: int = 20) -> Response:
        """The last commits: rows, event times, watermark, sources."""
        access.check_stream(name)
        commits = service.project.log.commits(name, max(1, min(last, 1000)))
        return answer({"topic": name, "commits": [vars(commit) for commit in commits]})

    return router


_RECEIPT = ("topic", "commit", "rows", "dead", "watermark", "behind", "repeated", "unknown", "became")
_STATUS = {"rows": 201, "nothing": 201, "rows and dead letters": 207, "dead letters": 422}
_ANSWERS = {
    "207": {"description": "Some of the events became rows, the others are dead letters."},
    "422": {"description": "No event became a row: all are dead letters; or nothing was appended, as `title` says."},
}


def _told(receipt: Receipt) -> dict[str, Any]:
    """The detail for events that became no rows, as a problem says it."""
    if not receipt.dead:
        return {}
    what = "1 event is a dead letter" if receipt.dead == 1 else f"{receipt.dead:,} events are dead letters"
    return {
        "title": f'{what} of "{receipt.topic}"',
        "detail": "They are kept with their reasons: don't send them again.",
        "hint": f"GET /streams/{receipt.topic}/dead has them; POST …/redrive takes those in that can be read by then.",
    }


_LETTER = ("position", "error", "reason", "source", "bytes", "_arrived_at", "_commit", "_row")


def _letter(letter: dict[str, Any]) -> dict[str, Any]:
    shown = {name.removeprefix("_"): letter[name] for name in _LETTER}
    return shown | {"bytes": None if letter["bytes"] is None else readable(letter["bytes"])}


def _sequence(key: str | None) -> tuple[str, int] | None:
    if key is None:
        return None
    matched = _KEY.fullmatch(key.strip())
    if matched is None:
        raise ArgumentRefused(
            "the idempotency key is not PRODUCER:NUMBER",
            detail="The number says where in the order of a producer's appends this one is.",
            hint="Write, for example, Idempotency-Key: till-7:42, and 43 for the next append of till-7.",
        )
    return matched["producer"], int(matched["number"])


def _rows(kind: str, body: bytes) -> Any:
    if kind in JSON or kind in LINES:
        lines = _lines(body) if kind in JSON else body
        if lines.count(b"\n") > MOST_EVENTS:
            raise TooLarge(
                f"the body has more than {MOST_EVENTS:,} events",
                detail="Nothing was appended.",
                hint="Send them in several requests.",
            )
        return lines
    if kind in ARROW:
        return read_stream(body)
    raise FormatRefused(
        f'the content type "{kind or "none"}" can\'t be taken',
        detail="Nothing was appended.",
        hint=f"Send {', '.join([*JSON, LINES[0], *ARROW])}.",
    )


def _lines(body: bytes) -> bytes:
    """A JSON document as lines, each value as it was written: a line's end can only stand between its parts."""
    try:
        text = body.decode("utf-8-sig").strip()
        values = list(_elements(text)) if text.startswith("[") else [text]
        if not text.startswith("["):
            _DECODER.decode(text)
    except ValueError as cause:
        raise UnreadableEvent("the body is not JSON", detail=f"{cause}. Nothing was appended.") from cause
    except RecursionError as cause:
        raise UnreadableEvent(
            "the body is nested too deeply",
            detail=f"An event may have {DEEPEST} levels of objects and arrays. Nothing was appended.",
        ) from cause
    return "\n".join(value.replace("\n", " ").replace("\r", " ") for value in values).encode()


def _elements(text: str) -> Iterator[str]:
    """The elements of an array, as they were written; one at a time, so that other threads come to run."""
    at, end = _skip(text, 1), len(text)
    is_first = True
    while at < end and text[at] != "]":
        if not is_first:
            if text[at] != ",":
                raise ValueError(f"a comma is missing at character {at + 1}")
            at = _skip(text, at + 1)
        _, behind = _DECODER.raw_decode(text, at)
        yield text[at:behind]
        at, is_first = _skip(text, behind), False
    if at != end - 1:
        raise ValueError(f"the array ends at character {at + 1}, and the body at {end}")


def _skip(text: str, at: int) -> int:
    """The end of the blanks that begin at an index."""
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at
