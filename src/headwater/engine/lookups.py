"""Names of the JVM that Python asks for over and over, asked for once.

To make a column Python asks the JVM what `functions` is, then what `functions.col` is, then for the column. A small
step makes hundreds of them, and every question goes through a socket. Here the answers to the first two are kept as
attributes of what was asked, where Python finds them before it asks again.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember

_NAMES = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


class _Remembered(JavaClass):  # type: ignore[misc]
    """A class of the JVM whose methods are looked up once."""

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


def remember(jvm: Any) -> None:
    """Keep what the names mean that PySpark asks a JVM for most."""
    for name in _NAMES:
        known = getattr(jvm, name)
        if not isinstance(known, _Remembered):
            setattr(jvm, name, _Remembered(known._fqn, known._gateway_client))
