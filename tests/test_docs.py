"""The examples in the documentation run, page by page, and show what really comes out.

A page is run from top to bottom in a folder of its own, with one namespace. What a fenced block is for stands behind
its three backticks:

    python            run; with `>>>` prompts its output is compared, as in a doctest
    console           each line that starts with `$ ` is run by bash; the lines below it are what it prints
    LANGUAGE file=P   written to the file P

All others are for reading. In expected output, `...` or `…` stands for any text; space at the end of a line and a
command without lines below it are not compared.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(?P<language>\w+)(?P<rest>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\bfile=(\S+)")
DOCTEST_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block that does something."""

    line: int
    language: str
    file: str | None
    text: str


def blocks_of(markdown: str) -> Iterator[Block]:
    """The blocks that run or are written, in their order."""
    for fence in FENCE.finditer(markdown):
        file = FILE.search(fence["rest"])
        if file or fence["language"] in ("python", "console"):
            line = markdown.count("\n", 0, fence.start("text")) + 1
            yield Block(line, fence["language"], file[1] if file else None, fence["text"])


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown for it; a trailing backslash continues a command."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, expected = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
        yield command, expected


def shows(expected: str, printed: str) -> bool:
    """Whether the printed text is the expected one, `...` standing for anything."""
    parts = re.split(r"\.\.\.|…", _tidy(expected))
    return re.fullmatch(".*?".join(map(re.escape, parts)), _tidy(printed), re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


class Reader:
    """Someone who follows a page: has a folder, a Python prompt and a terminal."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        place = f"{self.page}:{block.line}"
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            self._type(block.text, place)
        elif block.text.startswith(">>> "):
            self._check(block, place)
        else:
            exec(compile(block.text, place, "exec"), self.names)

    def _check(self, block: Block, place: str) -> None:
        example = doctest.DocTestParser().get_doctest(block.text, self.names, place, place, block.line)
        told: list[str] = []
        doctest.DocTestRunner(optionflags=DOCTEST_OPTIONS).run(example, out=told.append, clear_globs=False)
        self.names = example.globs
        assert not told, "".join(told)

    def _type(self, text: str, place: str) -> None:
        for command, expected in commands_of(text):
            done = self._run(command)
            if expected.strip():
                assert shows(expected, done.stdout), f"{place}: {command}\n{done.stdout}"
            else:
                assert done.returncode == 0, f"{place}: {command}\n{done.stdout}"

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        script = f'{command}\nstatus=$?; pwd > "$READER_FOLDER"; exit $status'
        remembered = self.folder / ".reader-folder"
        here = remembered.read_text().strip() if remembered.exists() else str(self.folder)
        surroundings = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "READER_FOLDER": str(remembered),
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "TERM": "dumb",
        }
        return subprocess.run(
            ["bash", "-c", script],
            cwd=here,
            env=os.environ | surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )


def pages() -> list[str]:
    """The pages that have something to run."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found if any(blocks_of(page.read_text(encoding="utf-8")))]


@pytest.mark.timeout(1200)  # a page may start Spark many times
@pytest.mark.parametrize("page", pages())
def test_a_page_shows_what_really_happens(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(page, tmp_path)
    for block in blocks_of((ROOT / page).read_text(encoding="utf-8")):
        reader.follow(block)


PAGE = """
```python file=pkg/numbers_we_like.py
FAVOURITE = 7
```
```console
$ cd pkg
$ ls *.py \\
    | wc -l
1
```
```python
from pathlib import Path
found = sorted(path.name for path in Path("pkg").iterdir())
```
```python
>>> found
['numbers_we_like.py']
```
```console
$ pwd
.../pkg
```
```sql
SELECT nothing FROM nowhere
```
"""


def test_blocks_of_a_page_share_a_folder_and_a_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader("a page", tmp_path)
    for block in blocks_of(PAGE):
        reader.follow(block)


@pytest.mark.parametrize(
    "wrong",
    [
        "```console\n$ echo two\none\n```",
        "```console\n$ false\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```python\nassert 1 + 1 == 3\n```",
    ],
)
def test_a_page_that_shows_something_else_fails(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Reader("a page", tmp_path).follow(next(blocks_of(wrong)))


@pytest.mark.parametrize("link", ["README.md", "CONTRIBUTING.md", "docs"])
def test_links_between_pages_lead_somewhere(link: str) -> None:
    start = ROOT / link
    for page in [start] if start.is_file() else sorted(start.rglob("*.md")):
        targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
        assert not [f"{page.name}: {target}" for target in targets if not (page.parent / target).exists()]
