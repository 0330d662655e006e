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
from headwater import errors, findings, operators

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
REFERENCE = ROOT / "docs" / "reference"
LAYERS = (
    "errors", "findings", "installed", "json_text", "staged", "waiting", "outbox", "model", "sql", "declare",
    "operators", "plan", "convert", "lowering", "log", "schemas", "kafka", "intake", "config", "engine", "store",
    "query", "outlets", "operate", "project", "serve", "testing", "cli",
)  # fmt: skip
"""A package or root module imports only from itself and from those before it."""
OPERATORS = "headwater.operators"
ABOVE_THE_API = {"testing", "cli"}
"""Who may import the public names from `headwater` itself, which may import every layer but the cli."""


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    paths = sorted((SOURCE / "headwater").rglob("*.py"))
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def layer_of(module: str) -> str:
    """`headwater.log.clock` → `log`; the package itself → ``.

    The room of an operator has two floors: its stage and its rules, below the planner, and its lowering, above it.
    """
    parts = module.split(".")
    if parts[1:2] == ["operators"] and "lowering" in parts:
        return "lowering"
    return parts[1] if len(parts) > 1 else ""


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


def test_ways_out_know_nothing_of_ways_in() -> None:
    """What both need lies below both: `json_text`, `schemas`, `kafka`."""
    assert not [
        (module, name)
        for module in modules() if layer_of(module) == "outlets"
        for name in imports_of(module) if layer_of(name) == "intake"
    ]  # fmt: skip


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({module: imports_of(module) for module in modules()}).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def test_the_layers_are_those_that_there_are_and_contributing_shows_them() -> None:
    assert {layer_of(module) for module in modules()} - {""} == set(LAYERS)
    assert " ".join(LAYERS) in " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())


PAGES = [page for page in (ROOT / "docs").rglob("*.md") if "design" not in page.parts]
NAMED = re.compile(r"`([a-z_]+/[a-z_/]+\.(?:py|java))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_that_a_page_names_are_there(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    assert not {name for name in named if not (SOURCE / "headwater" / name).exists() and not (ROOT / name).exists()}


def test_the_page_of_the_engine_names_the_modules_of_the_engine() -> None:
    page = (ROOT / "docs" / "concepts" / "engine.md").read_text(encoding="utf-8")
    table, _, _ = page.partition("### What operators become")
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert named
    assert not {name for name in named if not (SOURCE / "headwater" / "engine" / f"{name}.py").exists()}


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
    classes = dict(inspect.getmembers(errors, inspect.isclass) + inspect.getmembers(findings, inspect.isclass))
    return [member for member in classes.values() if issubclass(member, errors.HeadwaterError)]


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


# Rooms: who asks a stage for its class is named here, and the list may only shrink

ASKING = {
    "headwater.operators.late.lowering": {"Assign"},  # late for a window, or for its own time
    "headwater.plan.chain": {"Scan"},
    "headwater.plan.late": {"Assign", "Deduplicate", "Filter", "Scan"},  # makes the stages of another view anew
    "headwater.plan.physical.step": {"Scan"},
    "headwater.plan.physical.trace": {"Join", "Scan"},  # both sides of a join matter to each other
    "headwater.plan.ranking": {"Over", "Project"},  # makes a top-N of them
    "headwater.plan.union": {"Deduplicate", "Union"},  # makes one of several
}
"""What most operators have alike is a rule in `operators/stage.py`, which each states in its own room."""


GENERAL = (operators.Stage, operators.Unary)


@functools.cache
def rooms() -> dict[str, str]:
    """The room of each operator, by the name of its stage."""
    stages = {name: getattr(operators, name) for name in operators.__all__}
    kinds = {name: kind for name, kind in stages.items() if inspect.isclass(kind) and issubclass(kind, operators.Stage)}
    return {name: kind.__module__.rpartition(".")[0] for name, kind in kinds.items() if kind not in GENERAL}


def asked_for(tree: ast.AST) -> Iterator[str]:
    """The names of the classes that a module tells objects apart by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield from (part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name))
        elif isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            yield node.cls.id


def imported_operators(module: str) -> set[str]:
    nodes = ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8")))
    froms = (node for node in nodes if isinstance(node, ast.ImportFrom) and str(node.module).startswith(OPERATORS))
    return {alias.name for node in froms for alias in node.names}


def test_nobody_outside_its_room_asks_whether_a_stage_is_of_an_operator() -> None:
    asking: dict[str, set[str]] = {}
    for module, path in modules().items():
        foreign = {name for name in imported_operators(module) & rooms().keys() if not module.startswith(rooms()[name])}
        asked = foreign & set(asked_for(ast.parse(path.read_text(encoding="utf-8"))))
        if asked:
            asking[module] = asked
    assert asking == ASKING, "let the operator say it: a rule in operators/stage.py"


# Size: what is larger than one noun

WIDEST, LONGEST = 25, 450
"""How many methods a class may have, and how many lines a module."""


def methods() -> Iterator[tuple[str, int]]:
    """Every class by its dotted name, and how many methods it has."""
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield (
                    f"{module}.{node.name}",
                    sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body),
                )


def test_no_class_is_wider_than_one_noun() -> None:
    assert not {name: count for name, count in methods() if count > WIDEST}, f"split them: more than {WIDEST} methods"


def test_no_module_is_longer_than_one_noun() -> None:
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in modules().items()}
    long = {module: lines for module, lines in lengths.items() if lines > LONGEST}
    assert not long, f"split them: more than {LONGEST} lines"
