"""The definition of a Python function that is declared: its text, and where its `def` stands."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from headwater.errors import Origin
from headwater.findings import ClauseRefused


def definition(kind: str, made: Callable[..., Any], origin: Origin) -> tuple[str, Origin]:
    """The text of a function without its decorators, and where its `def` stands. `kind` is what it declares."""
    try:
        lines, first = inspect.getsourcelines(made)
        text = textwrap.dedent("".join(lines))
        node = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        node = None
    if not isinstance(node, ast.FunctionDef):
        raise ClauseRefused(f"a {kind} has to be a function with a def of its own", origin=origin)
    source = "".join(text.splitlines(keepends=True)[node.lineno - 1 :])
    line = lines[node.lineno - 1]
    return source, Origin(made.__code__.co_filename, first + node.lineno - 1, len(line) - len(line.lstrip()) + 1)


def parameters(made: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of a function's parameters; None if it has none, or any number of them."""
    named = inspect.signature(made).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if not named or any(parameter.kind in variadic for parameter in named):
        return None
    return tuple(parameter.name for parameter in named)
