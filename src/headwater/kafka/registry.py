"""A schema registry that isn't the project's own: any with Confluent's REST API.

Its options are passed on as `confluent-kafka` spells them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import TypeVar

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headwater.errors import HeadwaterError

T = TypeVar("T")
Error = Callable[[str], HeadwaterError]
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


def _http_errors() -> Iterator[type[Exception]]:
    """The errors that the client raises if nobody answers: those of whichever HTTP library it has found."""
    for name in ("httpx2", "httpx"):
        try:
            yield importlib.import_module(name).HTTPError
        except ModuleNotFoundError:
            continue


NO_ANSWER = tuple(_http_errors())


class RemoteRegistry:
    """Asks one registry. `refused` is the error of what it says for good, `unavailable` of what may pass."""

    def __init__(self, options: Mapping[str, str], refused: Error, unavailable: Error) -> None:
        self._options = dict(options)
        self._refused, self._unavailable = refused, unavailable
        self._client().close()  # whether it can be asked with these options is known at once

    def ask(self, question: Callable[[SchemaRegistryClient], T], *, conflict: Error | None = None) -> T | None:
        """The registry's answer; None if it doesn't have it. `conflict` is the error of what it won't take."""
        try:
            with self._client() as client:
                return question(client)
        except SchemaRegistryError as problem:
            if problem.http_status_code == HTTPStatus.NOT_FOUND:
                return None
            raise self._error(problem.http_status_code, conflict)(problem.error_message) from problem
        except NO_ANSWER as problem:
            raise self._unavailable(str(problem) or type(problem).__name__) from problem

    def _client(self) -> SchemaRegistryClient:
        """A client for one question: they are few, and nobody knows which is the last."""
        try:
            return SchemaRegistryClient(self._options)
        except (ValueError, TypeError) as problem:
            raise self._refused(str(problem)) from problem

    def _error(self, status: int, conflict: Error | None) -> Error:
        if status == HTTPStatus.CONFLICT and conflict is not None:
            return conflict
        is_for_good = 400 <= status < 500 and status not in _PASSING
        return self._refused if is_for_good else self._unavailable
