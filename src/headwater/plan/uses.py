"""The parts of its project that a Python function uses: the text behind the names in it.

A function's own source isn't all that decides its values. It calls other functions, and reads constants, of its file
and of the files beside it. `used_by` gives all of that as one text, so that a change of any of it is a change of the
view. What is installed (a library) doesn't belong to it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from headwater import model

_INSTALLED = "site-packages"


def canonical_source(source: str) -> str:
    """Python source without comments and formatting, so that they don't change what a view is.

    >>> canonical_source("def f(x):  # double\\n    return (x\\n      * 2)")
    'def f(x):\\n    return x * 2'
    """
    try:
        return ast.unparse(ast.parse(textwrap.dedent(source)))
    except SyntaxError:
        return source


def whole_source(source: str, function: Callable[..., Any]) -> str:
    """The canonical source of a function, followed by what it uses."""
    return "\n".join([canonical_source(source), *used_by(function)])


def used_by(function: Callable[..., Any]) -> list[str]:
    """The parts of its project that a function uses, as `name = text`, in the order of its use."""
    if not isinstance(function, FunctionType):
        return []
    folder = Path(function.__code__.co_filename).parent
    return list(_Uses(folder, {id(function)}).of_function(function))


class _Uses:
    """One walk over what a function reaches; `seen` are the ids of what was visited."""

    def __init__(self, folder: Path, seen: set[int]) -> None:
        self._folder = folder
        self._seen = seen

    def of_function(self, function: FunctionType) -> Iterator[str]:
        """The values of the names in a function."""
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        enclosed = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        known: Mapping[str, Any] = {**function.__globals__, **enclosed}
        for name in _names(function.__code__):
            if name in known:
                yield from self._value(name, known[name])

    def _value(self, name: str, value: Any) -> Iterator[str]:
        value = _unwrapped(value)
        if isinstance(value, FunctionType | type | ModuleType):
            if id(value) in self._seen or not self._is_own(value):
                return
            self._seen.add(id(value))
        match value:
            case FunctionType():
                yield f"{name} = {_text_of(value)}"
                yield from self.of_function(value)
            case ModuleType() | type():
                yield f"{name} ="
                for inner, member in list(vars(value).items()):
                    if not inner.startswith("__") or isinstance(member, FunctionType):
                        yield from self._value(f"{name}.{inner}", member)
            case model.Stream() | model.Table() | model.View() | model.Function():
                return
            case _:
                yield f"{name} = {_spelled(value)}"

    def _is_own(self, value: FunctionType | type | ModuleType) -> bool:
        file = _file_of(value)
        return file is not None and file.is_relative_to(self._folder) and _INSTALLED not in file.parts


def _file_of(value: FunctionType | type | ModuleType) -> Path | None:
    """The file that something was defined in; a class is where its methods are, those left out that were generated."""
    if isinstance(value, FunctionType):
        return Path(value.__code__.co_filename)
    if isinstance(value, ModuleType):
        return Path(value.__file__) if value.__file__ else None
    methods = (_unwrapped(member) for member in vars(value).values())
    files = (Path(member.__code__.co_filename) for member in methods if isinstance(member, FunctionType))
    return next((file for file in files if file.suffix == ".py"), None)


def _unwrapped(value: Any) -> Any:
    """The function inside a method of a class, a property, or a wrapper that says what it wraps."""
    if isinstance(value, property):
        return value.fget
    return getattr(value, "__func__", getattr(value, "__wrapped__", value))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # what it stands for is not defined yet
        return False


def _names(code: CodeType) -> Iterator[str]:
    """The names in a function's code and in the functions inside it, each once."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    names = [*code.co_names, *code.co_freevars, *(name for nested in inner for name in _names(nested))]
    yield from dict.fromkeys(names)


def _text_of(function: FunctionType) -> str:
    try:
        return canonical_source(inspect.getsource(function))
    except OSError:
        return function.__qualname__


def _spelled(value: Any) -> str:
    """A constant as text that doesn't change from one process to the next."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_spelled, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_spelled(key)}: {_spelled(held)}' for key, held in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    text = repr(value)
    return f"{type(value).__module__}.{type(value).__qualname__}" if " at 0x" in text else text
