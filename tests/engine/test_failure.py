"""What exceptions of Spark's mean; those here are raised without Spark, the others in `tests/operate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from headwater.engine import failure
from headwater.engine.failure import failure_of
from headwater.errors import HeadwaterError, LogDamaged, StoreUnavailable


@dataclass
class Java:
    """An exception in the JVM, as Python sees it."""

    name: str
    message: str
    condition: str | None = None
    state: str | None = None
    cause: Java | None = None

    def getClass(self) -> Java:
        return self

    def getName(self) -> str:
        return self.name

    def getMessage(self) -> str:
        return self.message

    def getCondition(self) -> str | None:
        return self.condition

    def getSqlState(self) -> str | None:
        return self.state

    def getCause(self) -> Java | None:
        return self.cause


class Raised(Exception):
    """What Python raises for it: the query's own failure, around another."""

    def __init__(self, inner: Java) -> None:
        outer = Java("StreamingQueryException", "[STREAM_FAILED] Query failed", "STREAM_FAILED", "XXKST", inner)
        super().__init__(outer.message)
        self.java_exception = outer


PROXY = "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n  File x\n"


@pytest.mark.parametrize(
    ("inner", "code", "transient"),
    [
        (Java("A", "[DIVIDE_BY_ZERO] Division by zero.", "DIVIDE_BY_ZERO", "22012"), "view-failed", False),
        (Java("A", "[CAST] 'Connection reset'", "CAST_INVALID_INPUT", "22018"), "view-failed", False),
        (Java("A", "[USER_RAISED_EXCEPTION] no", "USER_RAISED_EXCEPTION", "P0001"), "view-failed", False),
        (Java("A", "index 3 out of bounds"), "view-failed", False),
        (Java("java.io.NotSerializableException", "Thing"), "view-failed", False),
        (Java("java.io.IOException", "Input/output error"), "view-interrupted", True),
        (Java("java.net.SocketTimeoutException", "Accept timed out"), "view-interrupted", True),
        (Java("A", "Job aborted: ExecutorLostFailure (executor 1)"), "view-interrupted", True),
        (Java("A", "Python worker exited unexpectedly (crashed)"), "view-interrupted", True),
        (Java("A", "[X] no", "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT", "58030"), "view-interrupted", True),
        (Java("A", "[X] no", "FAILED_READ_FILE.FILE_NOT_EXIST", "KD001"), "view-interrupted", True),
        (Java("A", f"{PROXY}py4j.X: An error\n: a.B: [PATH_NOT_FOUND] no f"), "view-interrupted", True),
        (Java("A", "[X] no", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", "58030"), "checkpoint-damaged", False),
        (Java("A", "[X] no", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "XXKST"), "checkpoint-damaged", False),
        (Java("A", "Failed to read log file offsets/5. Incomplete log file"), "checkpoint-damaged", False),
        (Java("org.apache.hadoop.fs.ChecksumException", "offsets/5 at 0"), "checkpoint-damaged", False),
        (Java("A", "next on empty iterator\nCurrent State: INITIALIZING"), "checkpoint-damaged", False),
        (Java("A", "[X] no", "CONCURRENT_STREAM_LOG_UPDATE", "40000"), "view-busy", True),
    ],
    ids=lambda value: value.message[:30] if isinstance(value, Java) else "",
)
def test_the_innermost_exception_decides(inner: Java, code: str, transient: bool) -> None:
    found = failure_of("v", Raised(inner))
    assert (found.code(), found.transient) == (code, transient)


def test_arithmetic_of_ours_is_our_mistake_and_that_of_the_author_is_not() -> None:
    def overflow(file: str) -> HeadwaterError:
        said = f'[ARITHMETIC_OVERFLOW] overflow.\n== DataFrame ==\n"__mul__" was called from\n{file}:62'
        return failure_of("v", Raised(Java("A", said, "ARITHMETIC_OVERFLOW", "22003")))

    ours = overflow(str(Path(failure.__file__).parents[1] / "operators" / "assign" / "window.py"))
    assert (ours.code(), ours.hint) == (
        "internal-error",
        "Report it with the declaration of the view. Neither the query nor a row is at fault.",
    )
    assert "at window.py:62." in (ours.detail or "")
    assert overflow("/home/me/views.py").code() == "view-failed"


def test_an_error_of_ours_that_a_worker_raised_is_itself_again() -> None:
    inner = Java(
        "A", f"{PROXY}headwater.errors.LogDamaged: file 7 is damaged\n  Detail: Too short.\n  Hint:   Restore it.\n"
    )
    found = failure_of("v", Raised(inner))
    assert isinstance(found, LogDamaged)
    assert (found.summary, found.detail, found.hint) == ("file 7 is damaged", "Too short.", "Restore it.")


def test_an_error_of_ours_stays_what_it_is() -> None:
    error = StoreUnavailable("the store could not be written")
    assert failure_of("v", error) is error


def test_without_spark_nothing_is_tried_again() -> None:
    found = failure_of("v", Py4JNetworkError("Answer from Java side is empty"))
    assert (found.code(), found.transient) == ("spark-unavailable", False)


def test_the_reason_is_one_sentence_without_advice_to_switch_checks_off() -> None:
    message = (
        "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL instead. If necessary set "
        '"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003\n== SQL (line 1, position 5) ==\n'
        "SUM(n + 1)\n    ^^^^^"
    )
    found = failure_of("v", Raised(Java("A", message, "ARITHMETIC_OVERFLOW", "22003")))
    assert found.detail == (
        "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL instead. In: n + 1. "
        "Its rows are as they were after the last batch that succeeded."
    )
    assert (found.fields["condition"], found.fields["expression"]) == ("ARITHMETIC_OVERFLOW", "n + 1")
