"""Which files of a project's folder are run, and which are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.declare.marker import why_loaded
from headwater.errors import SettingsRefused

DECLARING = [
    "import headwater as hw\ns = hw.stream('s', columns={'a': int})",
    "import headwater\ns = headwater.stream('s', columns={'a': int})",
    "import headwater.declare\ns = headwater.declare.stream('s', columns={'a': int})",
    "import headwater.declare as d\ns = d.stream('s', columns={'a': int})",
    "from headwater import declare\ns = declare.stream('s', columns={'a': int})",
    "from headwater import stream as topic\ns = topic('s', columns={'a': int})",
    "from headwater.declare import stream\ns = stream('s', columns={'a': int})",
    "from headwater import *\ns = stream('s', columns={'a': int})",
    "import headwater as hw\nif True:\n    @hw.function\n    def double(a: int) -> int:\n        return 2 * a",
    "import headwater as hw\ndef made(name):\n    return hw.stream(name, columns={'a': int})\nt = made('t')",
    "import headwater as hw\nmake = hw.stream\nif __name__ == '__main__':\n    print('no')",
    "import headwater as hw\nif __name__ == '__main__':\n    pass\nelse:\n    s = hw.stream('s', columns={'a': int})",
    "import headwater as hw\ns = hw.stream('s', columns={'a': int)",  # can't be parsed
]
SCRIPTS = [
    "",
    "raise SystemExit('a script')",
    "stream = print\nstream('s')",
    "import headwater as hw\nwith hw.open('.') as project:\n    project.append('s', [{'a': 1}])",
    "import headwater as hw\nif __name__ == '__main__':\n    s = hw.stream('s', columns={'a': int})",
    "import headwater as hw\nif '__main__' == __name__:\n    hw.open('.')",
    "import spark as hw\nhw.table('s')",
    "from headwater.testing import scenario\nscenario",
    "from .headwater import stream\nstream('s')",
    "print 'version two of Python'",
    "def f(:\n    view()",
    "\x00",
]


@pytest.mark.parametrize("text", DECLARING)
def test_a_file_that_declares_is_told_by_its_text(text: str) -> None:
    assert why_loaded(Path("a.py"), text.encode()) is not None


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_file_that_declares_nothing_is_left_alone(text: str) -> None:
    assert why_loaded(Path("a.py"), text.encode()) is None


def project(folder: Path, settings: str = "", **files: str) -> Path:
    (folder / "headwater.toml").write_text(f'name = "shop"\n{settings}')
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_sql", ".sql").replace("_cfg", ".cfg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_scripts_tests_and_what_is_installed_lie_beside_declarations_unharmed(tmp_path: Path) -> None:
    project(
        tmp_path,
        streams__shop_py="import headwater as hw\nfrom columns import NUMBERS\ns = hw.stream('s', columns=NUMBERS)",
        streams__columns_py="NUMBERS = {'a': int}",
        report_py="import headwater as hw\nwith hw.open('.') as project:\n    raise RuntimeError('it ran')",
        broken_py="def (",
        tests__test_shop_py="import headwater as hw\nraise RuntimeError(hw.stream)",
        venv__pyvenv_cfg="home = /usr",
        venv__lib_py="import headwater as hw\nraise RuntimeError(hw.stream)",
        node_modules__x_sql="SELECT nonsense",
    )
    with hw.open(tmp_path) as opened:
        assert opened.check().findings == ()
        assert [topic.name for topic in opened.declared.topics] == ["s"]
        assert [(found.file, found.why) for found in opened.declarations.left_alone] == [
            ("broken.py", "it declares nothing"),
            ("report.py", "it declares nothing"),
            ("streams/columns.py", "it declares nothing"),
            ("tests/test_shop.py", "it is a test"),
        ]


def test_an_error_in_a_file_says_why_it_is_loaded_and_how_to_leave_it_alone(tmp_path: Path) -> None:
    project(tmp_path, a_py="import headwater as hw\nprint(hw.view)\n1 / 0", b_py="import headwater as hw\nhw.view(")
    with hw.open(tmp_path) as opened:
        first, second = opened.check().findings
    assert "It is loaded because line 2 uses hw.view; to leave it alone, list" in (first.hint or "")
    assert "`declarations` in headwater.toml" in (first.hint or "")
    assert "It is loaded because it names headwater and view;" in (second.hint or "")


def test_a_project_may_state_where_its_declarations_are(tmp_path: Path) -> None:
    project(
        tmp_path,
        'declarations = ["streams", "views/*.sql", "none.py"]',
        streams__s_py="from made import made\ns = made()",
        streams__made_py="import headwater as hw\ndef made():\n    return hw.stream('s', columns={'a': int})",
        views__v_sql="CREATE MATERIALIZED VIEW v AS SELECT a FROM s;",
        views__old__w_sql="nonsense",
        none_py="",
        a_py="import headwater as hw\nraise RuntimeError(hw.stream)",
        b_sql="nonsense",
    )
    with hw.open(tmp_path) as opened:
        assert [finding.summary for finding in opened.check().errors] == []
        assert ([topic.name for topic in opened.declared.topics], [view.name for view in opened.declared.views]) == (
            ["s"],
            ["v"],
        )


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('["nowhere"]', '"nowhere", where nothing is declared'),
        ('["*.sql"]', "where nothing is declared"),
        ('["../other"]', "not below the project's folder"),
        ('["/etc"]', "not below the project's folder"),
        ("[]", "can't be used"),
    ],
)
def test_a_statement_that_names_nothing_is_refused(tmp_path: Path, setting: str, reason: str) -> None:
    project(tmp_path, f"declarations = {setting}", a_py="x = 1")
    with pytest.raises(SettingsRefused, match=r"declarations") as refused:
        hw.open(tmp_path)
    assert reason in str(refused.value)
