"""The marks of a file of Python with declarations, seen from its text: nothing is run to find out.

It refers, through an import of `headwater`, to a name that declares, anywhere but below `if __name__ == "__main__"`. A
script that opens a project, a test, or a tool that lies beside the declarations does not, and is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

DECLARING = frozenset({"function", "outlet", "stream", "table", "upcast", "view"})
_PACKAGES = ("headwater", "headwater.declare")
_NAMED = re.compile(rb"\bheadwater\b")
_TESTS = frozenset({"test", "tests"})


def why_loaded(path: Path, text: bytes) -> str | None:
    """The reason to load a file, for people; None if it is left alone."""
    try:
        tree = ast.parse(text, str(path))
    except (SyntaxError, ValueError):  # what can't be parsed is told, if it may have been meant to declare something
        uses = re.search(rb"\b(%s)\s*\(" % b"|".join(name.encode() for name in sorted(DECLARING)), text)
        return f"it names headwater and {uses[1].decode()}" if uses and _NAMED.search(text) else None
    use = next(_uses(tree), None)
    return None if use is None else f"line {use.lineno} uses {ast.unparse(use)}"


def is_test(path: Path) -> bool:
    """Tells whether a file, named from the project's folder, is one that pytest would take for a test.

    >>> is_test(Path("tests/shop.py")), is_test(Path("test_shop.py")), is_test(Path("shop.py"))
    (True, True, False)
    """
    named = path.name == "conftest.py" or path.stem.startswith("test_") or path.stem.endswith("_test")
    return named or not _TESTS.isdisjoint(path.parts[:-1])


def _uses(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions that are a name that declares."""
    nodes = list(_outside_main(tree))
    packages, names = _imported(nodes)
    for node in nodes:
        match node:
            case ast.Name(ctx=ast.Load()) if node.id in names:
                yield node
            case ast.Attribute() if node.attr in DECLARING and _dotted(node.value) in packages:
                yield node


def _outside_main(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that run only when the file is a program."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _asks_for_main(child.test):
            for other in child.orelse:
                yield other
                yield from _outside_main(other)
            continue
        yield child
        yield from _outside_main(child)


def _asks_for_main(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = {ast.unparse(side) for side in (test.left, *test.comparators)}
    return sides == {"__name__", "'__main__'"}


def _imported(nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """The names of packages that have names that declare, and those of such names."""
    packages, names = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Import():
                known = [alias for alias in node.names if alias.name in _PACKAGES]
                packages.update(name for alias in known for name in ([alias.asname] if alias.asname else _PACKAGES))
            case ast.ImportFrom(level=0) if node.module in _PACKAGES:
                local = {alias.name: alias.asname or alias.name for alias in node.names}
                names.update(DECLARING if "*" in local else (local[name] for name in DECLARING & local.keys()))
                packages.update(local[name] for name in ("declare",) if name in local)
    return packages, names


def _dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute() if (before := _dotted(node.value)) is not None:
            return f"{before}.{node.attr}"
    return None
