"""The meaning of a failure of Spark: who must act, and whether trying again can help.

An exception of Spark's is the outermost of a chain in the JVM; what happened stands further in. Each link may carry a
*condition* (`DIVIDE_BY_ZERO`) and an SQLSTATE. From them follows one of these errors of ours:

    ViewFailed          an expression fails on what it is given: it would fail again
    CheckpointDamaged   Spark can't read what it wrote to the view's checkpoint: the log has everything to build it anew
    ViewInterrupted     a task was lost, a disk or a process didn't answer: another attempt may succeed
    ViewBusy            somebody else writes to the same checkpoint
    SparkUnavailable    Spark itself is gone
    FunctionFailed      a Python function failed in a worker on what it is given
    InternalError       arithmetic of ours, not the author's, went beyond its type
    LogUnavailable, …   an error of ours, raised in one of Spark's Python workers and passed on as text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater import errors
from headwater.errors import (
    CheckpointDamaged,
    FunctionFailed,
    HeadwaterError,
    InternalError,
    SparkUnavailable,
    ViewBusy,
    ViewFailed,
    ViewInterrupted,
)

KEPT = "Its rows are as they were after the last batch that succeeded."
_CHECKPOINT = (
    "CANNOT_LOAD_STATE_STORE",
    "CHECKPOINT_FILE_CHECKSUM",
    "INVALID_LOG_VERSION",
    "MALFORMED_LOG_FILE",
    "STATE_STORE_",
    "STREAMING_CHECKPOINT_MISSING",
    "STREAMING_QUERY_EVOLUTION_ERROR",
    "STREAMING_STATEFUL_OPERATOR_",
    "STREAM_STREAM_JOIN_INCO",
)
_ALTERED = "org.apache.hadoop.fs.ChecksumException"
"""A file of a checkpoint that has other bytes than were written: of all that Spark reads, only those have checksums."""
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
_DATA = ("22", "P0001")
"""SQLSTATEs of what goes wrong with data, and of `raise_error`."""
_TRANSIENT = (
    "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR",
    "CANNOT_WRITE_STATE_STORE",
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "FAILED_RENAME_TEMP_FILE",
    "PATH_NOT_FOUND",
    "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE",
    "STREAMING_PYTHON_RUNNER_INITIALIZATION",
    "TASK_WRITE_FAILED",
)
_LOST = re.compile(
    r"ExecutorLostFailure|FetchFailed|Python worker (exited unexpectedly|failed to connect)|Connection (reset|refused)"
    r"|Broken pipe|SparkContext was shut down|No space left on device"
)
_IO = re.compile(r"java\.(net\.|nio\.(file|channels)\.|io\.(IO|EOF|FileNotFound|InterruptedIO|UncheckedIO)Exception)")
_RAISED = re.compile(r"^:? ?(?P<kind>[\w.$]+): (?P<message>(?:\[(?P<condition>[A-Z_.]+)\] )?.*)$", re.MULTILINE)
_OURS = re.compile(r"headwater\.errors\.(?P<name>\w+): (?P<text>[^\n]*(?:\n {2}(?:Detail|Hint): [^\n]*)*)")
_BEYOND = ("22003", "22008")
"""SQLSTATEs of a number or an instant that is beyond its type."""
_OURS_IN = Path(__file__).parents[1]
_CALLED_FROM = re.compile(r"== DataFrame ==\n\S+ was called from\n(?P<file>[^\n]+):(?P<line>\d+)")
_MARKED = re.compile(r"== SQL[^\n]*==\n(?P<sql>[^\n]*)\n(?P<before> *)(?P<marks>\^+)")
_FUNCTION = re.compile(r'function "(?P<name>[^"]*)"')
_ADVICE = re.compile(r"\s*(If necessary set \"spark\.sql\.ansi\.enabled\".*?error[^.]*\.|SQLSTATE: \w+)", re.DOTALL)


@dataclass(frozen=True)
class Link:
    """One exception of a chain in the JVM: its class, what it says, all of its text; what Spark's own know beside.

    `expression` is the part of the SQL that couldn't be computed. What Spark shows around it may be cut off.
    """

    kind: str
    message: str
    text: str
    condition: str = ""
    state: str = ""
    expression: str = ""


def failure_of(view: str, cause: BaseException) -> HeadwaterError:
    """The error that an exception of Spark's, or of the code that it called, stands for."""
    if isinstance(cause, HeadwaterError):
        return cause
    if _is_gone(cause):
        return _gone(cause)
    links = list(chain_of(cause))
    text = "\n".join([str(cause), *(link.text for link in links)])
    conditions = [link.condition for link in links if link.condition]
    if line := next((line for link in links if link.state in _BEYOND and (line := _line_of_ours(link))), None):
        return _our_overflow(view, line)
    if any(link.state.startswith(_DATA) for link in links):
        return _failed(view, links, cause)
    if "CONCURRENT_STREAM_LOG_UPDATE" in conditions:
        return _busy(view)
    if passed_on := _ours(text):
        return _of_function(view, passed_on) if isinstance(passed_on, FunctionFailed) else passed_on
    if any(condition.startswith(_TRANSIENT) for condition in conditions):
        return _interrupted(view, _said(links, cause))
    altered = any(link.kind == _ALTERED for link in links)
    if altered or any(condition.startswith(_CHECKPOINT) for condition in conditions) or _is_log_of_checkpoint(text):
        return damaged(view, _said(links, cause))
    if _LOST.search(text) or any(_IO.match(link.kind) for link in links):
        return _interrupted(view, _said(links, cause))
    return _failed(view, links, cause)


@contextmanager
def failures_of(view: str) -> Iterator[None]:
    """Raise what a failure of Spark means instead of the exception it comes as."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as cause:
        raise failure_of(view, cause) from cause


def damaged(view: str, reason: str) -> CheckpointDamaged:
    """The error for a checkpoint that can't be resumed."""
    return CheckpointDamaged(
        f'the checkpoint of view "{view}" can\'t be read',
        detail=f"{reason} {KEPT}",
        hint="Run `headwater catch-up`: the view is built from the log, beside the rows that are served.",
        view=view,
        reason=reason,
    )


def chain_of(cause: BaseException) -> Iterator[Link]:
    """The exceptions of the JVM behind one of Python's, outermost first."""
    exception: Any = getattr(cause, "java_exception", None) or getattr(cause, "_origin", None)
    seen = 0
    while exception is not None and seen < 20:  # a chain may lead back into itself
        yield _link(exception)
        exception, seen = exception.getCause(), seen + 1


def _link(exception: Any) -> Link:
    """One exception. Of one that Python raised when the JVM called it, the JVM has only the text."""
    kind, message = str(exception.getClass().getName()), str(exception.getMessage() or "")
    raised = list(_RAISED.finditer(message)) if "raised by the Python Proxy" in message else []
    if raised:
        kind, said = raised[-1]["kind"], raised[-1]["message"]
        return Link(kind, said, message, raised[-1]["condition"] or "", expression=_marked(message))
    condition, state = _asked(exception, "getCondition"), _asked(exception, "getSqlState")
    return Link(kind, message, message, condition, state, _fragment(exception) or _marked(message))


def _marked(text: str) -> str:
    """The SQL that is marked in a message of Spark's, in the line below it."""
    found = _MARKED.search(text)
    return found["sql"][len(found["before"]) :][: len(found["marks"])] if found else ""


def _fragment(exception: Any) -> str:
    """The SQL that one of Spark's own exceptions is about."""
    from py4j.protocol import Py4JError

    try:
        contexts = exception.getQueryContext()
        return str(contexts[0].fragment()) if contexts else ""
    except (Py4JError, AttributeError, TypeError):  # others don't know of it, and of a DataFrame there is no SQL
        return ""


def _asked(exception: Any, what: str) -> str:
    """The answer that Spark's own exceptions know of themselves, and others don't."""
    from py4j.protocol import Py4JError

    try:
        return str(getattr(exception, what)() or "")
    except Py4JError:
        return ""


def _innermost(links: list[Link]) -> Link | None:
    """The link that says most: the innermost with a condition, or else with a message."""
    for wanted in ("condition", "message"):
        telling = [link for link in links if getattr(link, wanted) and link.condition not in _WRAPPERS]
        if telling:
            return telling[-1]
    return None


def _said(links: list[Link], cause: BaseException) -> str:
    """The failure, in Spark's words, as one sentence."""
    link = _innermost(links)
    text = link.message if link else f"{type(cause).__name__}: {cause}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(cause).__name__)
    return f"{_ADVICE.sub('', first).strip().rstrip('.')}."


def _is_log_of_checkpoint(text: str) -> bool:
    """Tells whether Spark failed at one of the small files in which it notes what it has done."""
    return "Failed to read log file" in text or "Current State: INITIALIZING" in text


def _ours(text: str) -> HeadwaterError | None:
    """The error of ours that a Python worker has passed on, if it is one."""
    match = _OURS.search(text)
    kind = getattr(errors, match["name"], None) if match else None
    if match is None or not isinstance(kind, type) or not issubclass(kind, HeadwaterError):
        return None
    summary, *rest = match["text"].split("\n")
    more = {line.strip().partition(":")[0].lower(): line.partition(":")[2].strip() for line in rest}
    return kind(summary, detail=more.get("detail"), hint=more.get("hint"))


def _of_function(view: str, failure: FunctionFailed) -> FunctionFailed:
    """The failure of a function as that of the view that calls it."""
    sentence = f"{failure.summary[0].upper()}{failure.summary[1:]}"
    name = _FUNCTION.match(failure.summary)
    return FunctionFailed(
        f'view "{view}" stopped',
        detail=" ".join(part for part in (f"{sentence.rstrip('.')}.", failure.detail, KEPT) if part),
        hint=failure.hint,
        view=view,
        condition=FunctionFailed.code(),
        function=name["name"] if name else "",
    )


def _failed(view: str, links: list[Link], cause: BaseException) -> ViewFailed:
    link = _innermost(links)
    expression = authors_expression(link.expression) if link and link.expression else None
    where = f" In: {expression}." if expression else ""
    return ViewFailed(
        f'view "{view}" stopped',
        detail=f"{_said(links, cause)}{where} {KEPT}",
        hint="Mend the declaration or the data, then run `headwater catch-up` again.",
        view=view,
        condition=link.condition if link else "",
        expression=expression,
    )


def authors_expression(sql: str) -> str | None:
    """The expression if its author could have written it; None for what the engine has made of one.

    >>> authors_expression("amount / n "), authors_expression("transform(array_sort(collect_list(struct(__position, x")
    ('amount / n', None)
    """
    return None if "__" in sql else sql.strip()


def _line_of_ours(link: Link) -> str | None:
    """Where in the engine the arithmetic stands that failed; None if it is the author's, which is marked as SQL or
    stands in a file of theirs.
    """
    match = _CALLED_FROM.search(link.text)
    file = Path(match["file"]) if match else None
    ours = file is not None and file.is_relative_to(_OURS_IN)
    return f"{file.name}:{match['line']}" if file and match and ours else None


def _our_overflow(view: str, line: str) -> InternalError:
    return InternalError(
        f'view "{view}" stopped by a mistake of ours',
        detail=f"Arithmetic that the view doesn't show went beyond its type, at {line}. {KEPT}",
        hint="Report it with the declaration of the view. Neither the query nor a row is at fault.",
        view=view,
    )


def _interrupted(view: str, reason: str) -> ViewInterrupted:
    return ViewInterrupted(
        f'view "{view}" was interrupted',
        detail=f"{reason} {KEPT}",
        hint="Run `headwater catch-up` again: it goes on from there.",
        view=view,
        reason=reason,
    )


def _is_gone(cause: BaseException) -> bool:
    from py4j.protocol import Py4JNetworkError

    return isinstance(cause, Py4JNetworkError)


def _gone(cause: BaseException) -> SparkUnavailable:
    return SparkUnavailable(
        "Spark has ended",
        detail=f"Its process doesn't answer any more ({cause}). What was written stays as it is.",
        hint="See .headwater/spark.log and jvm.log. If it ran out of memory, give it more (spark.driver.memory under "
        "[spark] in headwater.toml). Then run the command again.",
    )


def _busy(view: str) -> ViewBusy:
    return ViewBusy(
        f'view "{view}" is being brought up to date by somebody else',
        detail=f"Two runs write to its checkpoint, and this one has stopped. {KEPT}",
        hint="Let the other run finish, or stop it, then run `headwater catch-up` again.",
        view=view,
    )
