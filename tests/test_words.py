"""The words of the project: the glossary against the documentation and the source, and what CONTRIBUTING names."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "headwater"
GLOSSARY = ROOT / "docs" / "glossary.md"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OWN = (
    "alert", "batch", "chain", "commit", "cut", "dead letter", "emit", "epoch", "feed", "fingerprint", "halt",
    "horizon", "inlet", "intake", "ledger", "live", "open part", "outlet", "pace", "pane", "pause", "plan", "position",
    "promotion", "pulse", "reach", "reader", "scrub", "seal", "settle", "shelf", "slice", "stamp", "store", "tick",
    "topic", "unsound", "verdict", "view", "watermark", "why",
)  # fmt: skip
"""Nouns that mean something of the project's own. Each is a module, a class or a function of it, or part of a name."""
FOUND = 36
"""No more variables than these are called `found`."""


def terms() -> list[str]:
    """The terms that the glossary defines, in its order."""
    return [
        term.lower() for term in re.findall(r"^\*\*([^*]+?)\.?\*\*", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def spoken(word: str, text: str) -> bool:
    """Tells that a text has a word, in whichever number; of several words, as a name may write them too."""
    written = "[ _]".join(map(re.escape, word.split()))
    return re.search(rf"\b{written}(e?s)?\b", text, re.IGNORECASE) is not None


def pages() -> str:
    """All of the documentation but the glossary, and the docstrings and comments of the source."""
    texts = [path for path in (ROOT / "docs").rglob("*.md") if path != GLOSSARY]
    return "\n".join(path.read_text(encoding="utf-8") for path in (*texts, ROOT / "README.md", *PACKAGE.rglob("*.py")))


def test_the_glossary_defines_each_term_once() -> None:
    assert [term for term, times in Counter(terms()).items() if times > 1] == []


def test_each_term_of_the_glossary_is_used() -> None:
    text = pages()
    assert [term for term in terms() if not spoken(term, text)] == []


@pytest.mark.parametrize("word", OWN)
def test_a_noun_of_the_projects_own_is_in_the_glossary_and_in_the_source(word: str) -> None:
    assert word in terms()
    name = word.replace(" ", "_")
    names = re.compile(rf"(class|def) \w*({name}|{name.title().replace('_', '')})\w*")
    modules = [path for path in PACKAGE.rglob("*.py") if name in path.stem]
    assert modules or any(names.search(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))


def test_a_docstring_opens_with_the_noun_or_the_verb() -> None:
    """Not with What, Which, Whether or How: a reader looks for the thing."""
    opens = re.compile(r'"""(What|Which|Whether|How)\b.*')
    texts = ((path.relative_to(PACKAGE), path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    assert [(str(path), match[0]) for path, text in texts for match in opens.finditer(text)] == []


def bound(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_a_variable_says_what_it_holds() -> None:
    """Not that it was found. There are some left; each that is renamed lowers the bound."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    assert sum(name == "found" for tree in trees for name in bound(tree)) <= FOUND


def quoted() -> list[str]:
    """What stands in backquotes in CONTRIBUTING."""
    return re.findall(r"`([^`\n]+)`", CONTRIBUTING)


@pytest.mark.parametrize(
    "path", sorted({name for name in quoted() if re.fullmatch(r"[\w./-]+(\.py|\.md|/)|[\w.-]+/[\w./-]+", name)})
)
def test_a_path_that_contributing_names_is_there(path: str) -> None:
    assert (ROOT / path).exists() or (PACKAGE / path.removeprefix("headwater/")).exists()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", CONTRIBUTING))
def test_a_link_of_contributing_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", CONTRIBUTING))))
def test_a_target_that_contributing_names_is_in_the_makefile(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", sorted({name for name in quoted() if re.fullmatch(r"headwater(\.\w+)+", name)}))
def test_a_name_that_contributing_names_is_public(name: str) -> None:
    module, _, member = name.rpartition(".")
    is_module = importlib.util.find_spec(module) is not None and importlib.util.find_spec(name) is not None
    assert is_module or hasattr(importlib.import_module(module), member)


@pytest.mark.parametrize("fixture", sorted({name for name in quoted() if name.endswith("_server") or name == "spark"}))
def test_a_fixture_that_contributing_names_is_there(fixture: str) -> None:
    tests = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("conftest.py"))
    assert any(re.search(rf"^def {fixture}\(", text, re.MULTILINE) for text in tests)
