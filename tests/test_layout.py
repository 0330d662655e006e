"""The shape of the source tree: who may import whom, what is public, and that all of it is documented."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic
import pytest
import typer

import headwater
from headwater import errors

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
REFERENCE = ROOT / "docs" / "reference"
LAYERS = (
    "errors", "installed", "model", "sql", "fields", "declare", "plan", "log", "intake", "config", "engine", "store",
    "query", "outlets", "operate", "project", "serve", "testing", "cli",
)  # fmt: skip
"""A package or root module imports only from itself and from those before it."""
ABOVE_THE_API = {"testing", "cli"}
"""Who may import the public names from `headwater` itself, which may import every layer but the cli."""


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    paths = sorted((SOURCE / "headwater").rglob("*.py"))
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def layer_of(module: str) -> str:
    """`headwater.log.clock` → `log`; the package itself → ``."""
    return module.split(".")[1] if "." in module else ""


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of the package that a module names in its imports, wherever in the file they stand."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    return frozenset(name for node in ast.walk(tree) for name in _named_by(node) if name in modules()) - {module}


def _named_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"imports are written in full: line {node.lineno}"
        for name in (f"{node.module}.{alias.name}" for alias in node.names):
            yield name if name in modules() else str(node.module)


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_from_the_layers_before_it(module: str) -> None:
    layer = layer_of(module)
    assert layer == "" or layer in LAYERS, f"{module} belongs to no layer"
    if layer == "":
        allowed = set(LAYERS) - {"cli"}
    else:
        allowed = set(LAYERS[: LAYERS.index(layer) + 1]) | ({""} if layer in ABOVE_THE_API else set())
    assert not {name for name in imports_of(module) if layer_of(name) not in allowed}


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({module: imports_of(module) for module in modules()}).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def public_members(module: ModuleType) -> set[str]:
    members = {name for name in dir(module) if not name.startswith("_")}
    own = {"annotations", "Any", "TYPE_CHECKING", "import_module"}
    return {name for name in members - own if not isinstance(getattr(module, name), ModuleType)}


def test_all_is_the_public_api() -> None:
    assert set(headwater.__all__) == public_members(headwater)
    assert len(headwater.__all__) == len(set(headwater.__all__))


def test_all_is_sorted_constants_then_classes_then_functions() -> None:
    assert list(headwater.__all__) == sorted(headwater.__all__, key=lambda name: (not name.isupper(), name))


def test_every_public_name_has_a_docstring() -> None:
    assert not [name for name in headwater.__all__ if not inspect.getdoc(getattr(headwater, name))]


def documented(page: str) -> str:
    return (REFERENCE / page).read_text(encoding="utf-8")


def error_classes() -> list[type[errors.HeadwaterError]]:
    classes = (member for _, member in inspect.getmembers(errors, inspect.isclass))
    return [member for member in classes if issubclass(member, errors.HeadwaterError)]


def is_finding(error: type[errors.HeadwaterError]) -> bool:
    """One of the reasons that the compiler gives; the two that only group them are not."""
    return issubclass(error, errors.Finding) and error not in (errors.Finding, errors.Caution)


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__name__)
def test_every_error_is_documented(error: type[errors.HeadwaterError]) -> None:
    assert f"`{error.__name__}`" in documented("findings.md" if is_finding(error) else "errors.md")


def test_every_error_but_the_findings_is_in_the_tree_at_the_top_of_its_module() -> None:
    listed = set(re.findall(r"\w+", errors.__doc__ or ""))
    assert not [error for error in error_classes() if not is_finding(error) and error.__name__ not in listed]


def command_names() -> list[str]:
    """Every command of the command line, the names of groups before it: `reader seek`."""
    command = typer.main.get_command(importlib.import_module("headwater.cli").app)
    return [" ".join(path) for path in _walk(command, ())]


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield path
    for name, child in inner.items():
        yield from _walk(child, (*path, name))


def test_every_command_is_documented() -> None:
    page = documented("commands.md")
    assert not [name for name in command_names() if f"`headwater {name}" not in page]


def setting_names() -> set[str]:
    """Every setting of headwater.toml: the fields of the models that `headwater.config` declares."""
    config = importlib.import_module("headwater.config")
    classes = [member for _, member in inspect.getmembers(config, inspect.isclass)]
    kinds = [kind for kind in classes if issubclass(kind, pydantic.BaseModel) and kind.__module__ == config.__name__]
    return {field.alias or name for kind in kinds for name, field in kind.model_fields.items()}


def test_every_setting_is_documented() -> None:
    page = documented("settings.md")
    assert not [name for name in sorted(setting_names()) if f"`{name}`" not in page]
