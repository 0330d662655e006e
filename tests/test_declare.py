"""Declarations in Python give the same values as those in SQL."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pytest

from headwater import errors, findings, model
from headwater.declare import function, load_python, stream, table, view
from headwater.sql import parse_declarations


def from_sql(text: str) -> model.Declaration:
    (declaration,) = parse_declarations(text, "a.sql").declarations
    return declaration


TRANSACTIONS = from_sql(
    """CREATE STREAM transactions (
      id STRING NOT NULL, card_id STRING NOT NULL, amount DECIMAL(12, 2), at TIMESTAMP NOT NULL,
      WATERMARK FOR at AS at - INTERVAL '5' SECOND
    ) COMMENT 'Card payments.' WITH (key = 'card_id', unique = 'id', idle = '30 seconds', max_ahead = 'none')"""
)


@dataclass
class Transactions:
    """Card payments."""

    id: str
    card_id: str
    amount: Annotated[Decimal, "DECIMAL(12, 2)"] | None
    at: datetime


@dataclass
class Address:
    street: str
    zip: int | None


@dataclass
class Everything:
    a: str
    b: int
    c: float
    d: bool
    e: bytes
    f: datetime
    g: date
    h: list[str]
    i: dict[str, list[int]]
    j: Address
    k: Address | None
    m: Annotated[int, "SMALLINT"]
    n: Annotated[str | None, "VARCHAR(3)"]
    o: list[Address]


def test_a_stream_from_keywords_equals_the_one_in_sql() -> None:
    declared = stream(
        "transactions",
        columns={
            "id": "STRING NOT NULL",
            "card_id": str,
            "amount": pa.decimal128(12, 2),
            "at": model.Column("at", model.INSTANT, nullable=False),
        },
        time="AT",
        watermark="5 seconds",
        key="Card_ID",
        unique=["id"],
        idle=timedelta(seconds=30),
        max_ahead=None,
        comment="Card payments.",
    )
    assert declared == TRANSACTIONS


def test_an_intake_is_the_same_in_python_and_in_sql() -> None:
    text = (
        "CREATE STREAM s (a INT, k STRING) WITH (connector = 'kafka', topic = 't', start = 'latest', message_key = 'k')"
    )
    intake = model.Kafka(topic="t", start="latest", message_key="K")
    (declared,) = parse_declarations(text, "s.sql").declarations
    assert stream("s", columns={"a": "INT", "k": "STRING"}, intake=intake) == declared


def test_a_folder_is_the_same_in_python_and_in_sql() -> None:
    text = "CREATE STREAM s (a INT) WITH (connector = 'folder', path = 'in', order = 'modified', settle = '1 minute')"
    intake = model.Folder(path="in", order="modified", settle=timedelta(minutes=1))
    (declared,) = parse_declarations(text, "s.sql").declarations
    assert stream("s", columns={"a": "INT"}, intake=intake) == declared


def test_an_intake_that_a_package_brings_along_reads_its_options_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "somebodys-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[headwater.intakes]\npigeons = somebodys:pigeons\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = (
        """CREATE STREAM s (a INT) WITH (connector = 'pigeons', idle = '1 minute', topic = 'bread', max_dead = '1%')"""
    )
    (declared,) = parse_declarations(text, "s.sql").declarations
    intake = model.Connector(name="pigeons", options=(("topic", "bread"),), max_dead=0.01)
    assert stream("s", columns={"a": "INT"}, idle="1 minute", intake=intake) == declared


def test_a_stream_from_a_dataclass_equals_the_one_in_sql() -> None:
    options: dict[str, Any] = {
        "time": "at",
        "watermark": timedelta(seconds=5),
        "key": "card_id",
        "unique": "id",
        "idle": "30s",
        "max_ahead": "none",
    }
    assert stream(Transactions, **options) == TRANSACTIONS
    assert stream(**options)(Transactions) == TRANSACTIONS


def test_a_decorated_dataclass_is_a_stream_named_in_snake_case() -> None:
    @stream(time="at")
    @dataclass
    class OrderPlacedV2:
        at: datetime

    assert isinstance(OrderPlacedV2, model.Stream)
    assert (OrderPlacedV2.name, OrderPlacedV2.comment) == ("order_placed_v2", None)
    assert OrderPlacedV2.watermark == model.Bounded()


def test_python_types_mean_sql_types() -> None:
    assert stream(Everything, name="s") == from_sql(
        """CREATE STREAM s (
          a STRING NOT NULL, b BIGINT NOT NULL, c DOUBLE NOT NULL, d BOOLEAN NOT NULL, e BINARY NOT NULL,
          f TIMESTAMP NOT NULL, g DATE NOT NULL, h ARRAY<STRING> NOT NULL, i MAP<STRING, ARRAY<BIGINT>> NOT NULL,
          j STRUCT<street: STRING NOT NULL, zip: BIGINT> NOT NULL, k STRUCT<street: STRING NOT NULL, zip: BIGINT>,
          m SMALLINT NOT NULL, n STRING, o ARRAY<STRUCT<street: STRING NOT NULL, zip: BIGINT>> NOT NULL
        )"""
    )


@pytest.mark.parametrize(
    ("watermark", "rule"),
    [
        (model.Bounded(timedelta(minutes=1)), "at - INTERVAL '1' MINUTE"),
        (
            model.Quantile(0.99, timedelta(seconds=1), timedelta(minutes=1)),
            "at - QUANTILE(0.99, INTERVAL '1' SECOND, INTERVAL '1' MINUTE)",
        ),
        (model.Punctuated("done"), "done"),
    ],
)
def test_every_watermark_can_be_given(watermark: model.WatermarkStrategy, rule: str) -> None:
    declared = stream("s", columns={"at": "TIMESTAMP", "done": "TIMESTAMP"}, time="at", watermark=watermark)
    assert declared == from_sql(f"CREATE STREAM s (at TIMESTAMP, done TIMESTAMP, WATERMARK FOR at AS {rule})")


def test_a_table_equals_the_one_in_sql() -> None:
    declared = table(
        "rates",
        columns={"currency": "STRING", "rate": "DOUBLE", "owner": "STRING", "at": "TIMESTAMP"},
        primary_key=("currency",),
        time="at",
        personal={"owner": ["rate"]},
    )
    assert declared == from_sql(
        """CREATE TABLE rates (currency STRING, rate DOUBLE, owner STRING, at TIMESTAMP, WATERMARK FOR at AS at,
        PRIMARY KEY (currency), PERSONAL (rate) OF owner)"""
    )


def test_a_function_equals_the_one_in_sql() -> None:
    declared = function("f", parameters={"a": int, "b": "STRING"}, returns="INT", body="a+length(b)", comment="x")
    assert declared == from_sql("CREATE FUNCTION f(a BIGINT, b STRING) RETURNS INT COMMENT 'x' RETURN a + length(b)")


def test_a_view_with_a_query_equals_the_one_in_sql() -> None:
    declared = view(
        "spend",
        query="""SELECT card_id, sum(amount) AS spent
                 FROM TUMBLE(transactions, at, INTERVAL '1' MINUTE) GROUP BY card_id""",
        grace="10 minutes",
        late="drop",
        emit="changes",
        every="10 seconds",
        store="main",
        key="card_id",
        horizon=timedelta(hours=1),
        retention="7 days",
        execution="live",
        layout="sorted set",
        score="spent",
        group=["card_id"],
        ttl="1 hour",
        index=["card_id", ("spent", "card_id")],
        comment="Per minute.",
    )
    assert declared == from_sql(
        """-- Per minute.
        CREATE MATERIALIZED VIEW spend WITH (grace = '10 minutes', late = 'drop', store = 'main', key = 'card_id',
          every = '10 seconds', horizon = '1 hour', retention = '7 days', execution = 'live',
          layout = 'sorted set', score = 'spent', group = 'card_id', ttl = '1 hour',
          index = 'card_id; spent, card_id') AS
        SELECT card_id, SUM(amount) AS spent FROM TABLE(TUMBLE(TABLE transactions, DESCRIPTOR(at), INTERVAL 1 MINUTE))
        GROUP BY card_id EMIT CHANGES"""
    )
    assert view("v", query="SELECT 1 AS a", materialized=False) == from_sql("CREATE VIEW v AS SELECT 1 AS a")


def test_a_query_in_python_knows_its_place_in_the_file() -> None:
    declared = view("v", query="""SELECT a
        FROM b""")  # fmt: skip
    assert isinstance(declared.query, model.SqlQuery)
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if '"""SELECT a' in text
    )
    assert declared.query.origin == errors.Origin(__file__, line, 35)
    assert declared.origin == errors.Origin(__file__, line)


def test_a_view_is_a_function_on_data_frames() -> None:
    @view(columns={"id": str, "total": "DOUBLE"}, grace="1 minute", horizon="1 hour")
    def totals(orders: Any, customers: Any) -> Any:
        """All of them."""
        return orders.join(customers, "id")

    assert isinstance(totals, model.View)
    assert isinstance(totals.query, model.PythonQuery)
    assert (totals.name, totals.comment, totals.grace) == ("totals", "All of them.", timedelta(minutes=1))
    assert totals.query.inputs == ("orders", "customers")
    assert totals.query.columns == (model.Column("id", pa.string(), False), model.Column("total", pa.float64()))
    assert totals.query.source.startswith("def totals(orders: Any, customers: Any) -> Any:\n")
    assert totals.query.source.endswith('return orders.join(customers, "id")\n')
    assert totals.query.function.__name__ == "totals"
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "def totals(" in text
    )
    assert totals.origin == errors.Origin(__file__, line, 5)


def test_a_function_may_be_written_in_python() -> None:
    @function(parameters={"amount": "DECIMAL(12, 2)", "country": str}, returns=float, deterministic=True)
    def score(amount: Any, country: Any) -> Any:
        """What it is worth."""
        return amount

    assert isinstance(score, model.Function)
    assert (score.name, score.comment, score.returns) == ("score", "What it is worth.", pa.float64())
    assert [str(parameter) for parameter in score.parameters] == ["amount DECIMAL(12, 2)", "country STRING"]
    assert isinstance(score.body, model.PythonBody)
    assert score.body.source.startswith("def score(amount: Any, country: Any) -> Any:\n")
    assert score.body.function("a", "b") == "a"
    assert score.origin is not None and score.origin.column == 5


def no_inputs() -> None: ...


def one_input(n: Any) -> Any:
    return n


QUERY = "SELECT 1"
REFUSALS: list[tuple[Callable[[], object], type[errors.DeclarationError], str]] = [
    (lambda: stream("s"), findings.ClauseRefused, '"s" is declared without columns'),
    (lambda: stream("s", columns={"a": "STRNG"}), findings.UnknownType, '"STRNG" is not a type'),
    (lambda: stream("s", columns={"a": Decimal}), findings.UnknownType, '"a" is a Decimal of unknown size'),
    (lambda: stream("s", columns={"a": complex}), findings.UnknownType, '"a" is a complex, which is no column type'),
    (lambda: stream("s", columns={"a": int | str}), findings.UnknownType, "int | str is not one type"),
    (lambda: stream("s", columns={"_a": int}), findings.ReservedName, 'stream "s" declares a column "_a"'),
    (lambda: stream("s", columns={"a": int}, kye="a"), findings.UnknownOption, 'stream() takes no "kye"'),  # type: ignore[call-overload]
    (
        lambda: stream("s", columns={"a": int}, key="b"),
        findings.KeyNotInOutput,
        'stream "s" names an unknown column "b" in option "key"',
    ),
    (lambda: stream("s", columns={"a": int}, idle="soon"), findings.OptionRefused, 'option "idle" is no duration'),
    (
        lambda: stream("s", columns={"a": int}, watermark="1s"),
        findings.WatermarkRefused,
        "a stream has a watermark but no time",
    ),
    (
        lambda: stream("s", columns={"a": int}, time="a"),
        findings.WatermarkRefused,
        'stream "s" takes time from "a", which is a BIGINT',
    ),
    (lambda: stream(type("Empty", (), {})), findings.UnknownType, 'class "Empty" has no annotated fields'),
    (lambda: table("t", columns={"a": int}), findings.ClauseRefused, "a table has no primary key"),
    (lambda: view("v"), findings.ClauseRefused, "a view is a query or a function with columns"),  # type: ignore[call-overload]
    (
        lambda: view(columns={"n": "INT DEFAULT 7"}),
        findings.ClauseRefused,
        'view() gives column "n" a DEFAULT or an ALIAS',
    ),
    (lambda: view("v", query="SELECT FROM t"), findings.SyntaxRefused, 'the text can\'t be parsed at "SELECT"'),
    (lambda: view("v", query="SELECT 1", grace="x"), findings.OptionRefused, 'option "grace" is no duration'),
    (lambda: view("v", query=QUERY, late="x"), findings.OptionRefused, "late is 'x'"),  # type: ignore[call-overload]
    (lambda: view("v", query=QUERY, emit="x"), findings.OptionRefused, "emit is 'x'"),  # type: ignore[call-overload]
    (
        lambda: view(columns={"a": int})(no_inputs),
        findings.ClauseRefused,
        'view "no_inputs" doesn\'t say what it reads',
    ),
    (
        lambda: view(columns={"a": int})(len),
        findings.ClauseRefused,
        "a view has to be a function with a def of its own",
    ),
    (lambda: function(returns="INT", body="1"), findings.ClauseRefused, "a function has no name"),  # type: ignore[call-overload]
    (
        lambda: function(parameters={"n": int}, returns="INT", deterministic=False)(one_input),
        findings.ImpureFunction,
        'function "one_input" isn\'t declared deterministic',
    ),
    (
        lambda: function("f", parameters={"m": int}, returns="INT", deterministic=True)(one_input),
        findings.ClauseRefused,
        'function "f" has other parameters than it declares',
    ),
    (
        lambda: function("f", parameters={}, returns="INT", deterministic=True)(no_inputs),
        findings.ClauseRefused,
        'function "f" has other parameters than it declares',
    ),
    (
        lambda: function("f", parameters={"n": int}, returns="INT", deterministic=True)(len),
        findings.ClauseRefused,
        "a function has to be a function with a def of its own",
    ),
    (lambda: function("f", returns="INT", body="1 +"), findings.SyntaxRefused, "the text can't be parsed at its end"),
]


@pytest.mark.parametrize(("declare", "kind", "summary"), REFUSALS, ids=[row[2] for row in REFUSALS])
def test_what_sql_refuses_is_refused_where_it_is_called(
    declare: Callable[[], object], kind: type[errors.DeclarationError], summary: str
) -> None:
    with pytest.raises(kind) as refused:
        declare()
    assert refused.value.summary == summary
    assert refused.value.origin is not None
    assert refused.value.origin.file == __file__


FILE = """from dataclasses import dataclass
from datetime import datetime

from beside import LIMIT, imported
from headwater.declare import stream, table, view

@dataclass
class Order:
    id: str
    at: datetime

orders = stream(Order, name="orders", time="at")
again = orders
big = view("big", query=f"SELECT * FROM orders WHERE id > {LIMIT}", materialized=False)

@view(columns={"id": str})
def ids(orders):
    return orders.select("id")
"""
BESIDE = """from headwater.declare import table
LIMIT = 100
imported = table("imported", columns={"a": int}, primary_key="a")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "json.py").write_text(FILE)
    (tmp_path / "beside.py").write_text(BESIDE)
    return tmp_path


def test_a_file_gives_its_declarations_in_their_order(project: Path) -> None:
    file = project / "json.py"
    parsed = load_python(file)
    assert parsed.findings == ()
    assert [(declared.name, str(declared.origin)) for declared in parsed.declarations] == [
        ("orders", f"{file}:12:1"),
        ("big", f"{file}:14:1"),
        ("ids", f"{file}:17:1"),
    ]
    assert load_python(file) == parsed


def test_a_file_leaves_no_module_and_no_path_behind(project: Path) -> None:
    import json

    before, path = dict(sys.modules), list(sys.path)
    load_python(project / "json.py")
    assert "beside" not in sys.modules
    assert sys.modules["json"] is json
    assert sys.path == path
    assert {name for name in sys.modules if name not in before} == set()


@pytest.mark.parametrize(
    ("text", "line", "column", "kind", "summary"),
    [
        ("x = 1\ny = 1 / 0\n", 2, 1, findings.SyntaxRefused, "the file raises ZeroDivisionError"),
        ("def f():\n    raise ValueError('no')\n\nf()\n", 2, 1, findings.SyntaxRefused, "the file raises ValueError"),
        ("import sys\nsys.exit(3)\n", 2, 1, findings.SyntaxRefused, "the file raises SystemExit"),
        ("x = (\n", 1, 5, findings.SyntaxRefused, "the file can't be parsed as Python"),
        ("from nowhere import x\n", 1, 1, findings.SyntaxRefused, "the file raises ModuleNotFoundError"),
        (
            "from headwater.declare import stream\n\ns = stream('s', columns={'a': 'STRNG'})\n",
            3,
            1,
            findings.UnknownType,
            '"STRNG" is not a type',
        ),
        (
            "from headwater.declare import view\nv = view(\n  'v',\n  query='SELECT a FROM t WHERE')\n",
            4,
            31,
            findings.SyntaxRefused,
            "the text can't be parsed at its end",
        ),
    ],
)
def test_an_exception_is_a_finding_at_its_line(
    tmp_path: Path, text: str, line: int, column: int, kind: type[errors.DeclarationError], summary: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    parsed = load_python(file)
    (finding,) = parsed.findings
    assert (type(finding), finding.summary) == (kind, summary)
    assert finding.origin == errors.Origin(str(file), line, column)
    assert parsed.declarations == ()
