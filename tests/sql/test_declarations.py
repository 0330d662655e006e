"""Text to model, and every refusal with its place."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from headwater import errors, findings, model
from headwater.sql import parse_declarations


def declare(text: str) -> model.Declaration:
    parsed = parse_declarations(text, "a.sql")
    assert parsed.findings == ()
    (declaration,) = parsed.declarations
    return declaration


def columns(**kinds: pa.DataType) -> tuple[model.Column, ...]:
    return tuple(model.Column(name, kind) for name, kind in kinds.items())


STREAM = """CREATE STREAM transactions (
  id STRING, card_id STRING, amount DECIMAL(12,2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'card_id', unique = 'id', idle = '30 seconds', max_ahead = '1 minute')"""


def test_a_stream_is_read() -> None:
    assert declare(STREAM) == model.Stream(
        name="transactions",
        columns=columns(id=pa.string(), card_id=pa.string(), amount=pa.decimal128(12, 2), at=model.INSTANT),
        time="at",
        watermark=model.Bounded(timedelta(seconds=5)),
        key=("card_id",),
        unique=("id",),
        idle=timedelta(seconds=30),
        max_ahead=timedelta(minutes=1),
    )


@pytest.mark.parametrize(
    ("rule", "watermark"),
    [
        ("at - INTERVAL '5' SECOND", model.Bounded(timedelta(seconds=5))),
        ("AT - INTERVAL 5 SECONDS", model.Bounded(timedelta(seconds=5))),
        ("at - INTERVAL '5 seconds'", model.Bounded(timedelta(seconds=5))),
        ("at", model.Bounded()),
        (
            "at - QUANTILE(0.999, INTERVAL '1' SECOND, INTERVAL '5' MINUTE)",
            model.Quantile(0.999, timedelta(seconds=1), timedelta(minutes=5)),
        ),
        ("Complete_To", model.Punctuated("complete_to")),
    ],
)
def test_a_watermark_is_read(rule: str, watermark: model.WatermarkStrategy) -> None:
    stream = declare(f"CREATE STREAM s (at TIMESTAMP, complete_to TIMESTAMP, WATERMARK FOR At AS {rule})")
    assert isinstance(stream, model.Stream)
    assert (stream.time, stream.watermark) == ("at", watermark)


def test_what_flink_calls_a_table_is_a_stream_if_it_has_a_watermark_and_no_key() -> None:
    body = "(at TIMESTAMP(3), WATERMARK FOR at AS at)"
    assert declare(f"CREATE TABLE s {body}") == declare(f"CREATE SOURCE s {body}") == declare(f"CREATE STREAM s {body}")


def test_a_table_has_a_primary_key_and_is_versioned_by_a_watermark() -> None:
    plain = declare("CREATE TABLE t (id STRING, v INT, PRIMARY KEY (ID) NOT ENFORCED)")
    versioned = declare("CREATE SOURCE t (id INT PRIMARY KEY, at TIMESTAMP, WATERMARK FOR at AS at)")
    assert plain == model.Table(
        name="t", columns=(model.Column("id", pa.string(), False), model.Column("v", pa.int32())), primary_key=("id",)
    )
    assert isinstance(versioned, model.Table)
    assert versioned.versioned


def test_personal_columns_name_their_subject() -> None:
    table = declare("CREATE TABLE t (id INT PRIMARY KEY, name STRING, mail STRING, PERSONAL (name, mail) OF id)")
    assert isinstance(table, model.Table)
    assert table.personal == (model.Personal(("name", "mail"), "id"),)


def test_a_materialized_view_is_read_with_its_options() -> None:
    view = declare(
        "CREATE MATERIALIZED VIEW v WITH (grace = '10 minutes', late = 'DROP', store = 'main', key = 'a, `b,c`',"
        " every = '10s', horizon = '1h', retention = '7d', execution = 'Settle',"
        " layout = 'Sorted Set', score = 'n', group = 'a', ttl = '1 hour', index = 'a; b, `c;d`') AS"
        " select a from t emit on window close"
    )
    assert view == model.View(
        name="v",
        query=model.SqlQuery("SELECT a FROM t"),
        grace=timedelta(minutes=10),
        late="drop",
        emit=model.Emit.FINAL,
        every=timedelta(seconds=10),
        store="main",
        key=("a", "b,c"),
        horizon=timedelta(hours=1),
        retention=timedelta(days=7),
        execution="settle",
        serving=model.Serving("sorted set", "n", ("a",), timedelta(hours=1), (("a",), ("b", "c;d"))),
    )


@pytest.mark.parametrize(
    ("text", "emit"),
    [
        ("CREATE MATERIALIZED VIEW v AS SELECT a FROM t", None),
        ("CREATE MATERIALIZED VIEW v AS SELECT a FROM t EMIT CHANGES", model.Emit.CHANGES),
        ("CREATE MATERIALIZED VIEW v AS SELECT a FROM t emit final", model.Emit.FINAL),
        ("CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS SELECT a FROM t", model.Emit.CHANGES),
        ("CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS SELECT a FROM t EMIT ON WINDOW CLOSE", model.Emit.FINAL),
        ("CREATE MATERIALIZED VIEW v AS SELECT a FROM `emit` `changes`", None),
    ],
)
def test_emit_is_a_clause_or_an_option(text: str, emit: model.Emit | None) -> None:
    view = declare(text)
    assert isinstance(view, model.View)
    assert view.emit == emit


def test_a_plain_view_is_not_materialized() -> None:
    assert declare("CREATE VIEW v AS SELECT 1 AS a") == model.View(
        name="v", query=model.SqlQuery("SELECT 1 AS a"), materialized=False
    )


def test_the_text_and_the_place_of_a_query_are_kept() -> None:
    view = declare("-- Big ones.\nCREATE VIEW v AS\n  select  *\n  from t ;")
    assert isinstance(view, model.View)
    assert isinstance(view.query, model.SqlQuery)
    assert view.query.written == "select  *\n  from t"
    assert (view.query.origin, view.origin) == (errors.Origin("a.sql", 3, 3), errors.Origin("a.sql", 2, 1))


def test_a_function_is_read() -> None:
    expected = model.Function(
        name="f", parameters=columns(a=pa.int32(), b=pa.string()), returns=pa.int32(), body="a + LENGTH(b)"
    )
    assert declare("CREATE FUNCTION f(a INT, b STRING) RETURNS INT RETURN a + length(b)") == expected
    assert declare("CREATE FUNCTION IF NOT EXISTS f(a INT, b STRING) RETURNS INT AS a + length(b)") == expected


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("CREATE VIEW v COMMENT 'it\\'s \"so\"' AS SELECT 1 AS a", 'it\'s "so"'),
        ("-- above\nCREATE VIEW v AS SELECT 1 AS a", "above"),
        ("-- two\n--   lines\nCREATE VIEW v AS SELECT 1 AS a", "two\nlines"),
        ("/* a block */ CREATE VIEW v AS SELECT 1 AS a", "a block"),
        ("/**\n * starred\n * lines\n */\nCREATE VIEW v AS SELECT 1 AS a", "starred\nlines"),
        ("-- above\nCREATE VIEW v COMMENT 'said' AS SELECT 1 AS a", "said"),
        ("-- the file\n\nCREATE VIEW v AS SELECT 1 AS a", None),
        ("-- the file\n\n-- the view\nCREATE VIEW v AS SELECT 1 AS a", "the view"),
        ("CREATE VIEW v AS SELECT 1 AS a -- inside\n", None),
        ("CREATE VIEW v COMMENT '' AS SELECT 1 AS a", None),
    ],
)
def test_a_comment_is_a_clause_or_stands_directly_above(text: str, comment: str | None) -> None:
    assert declare(text).comment == comment


def test_a_comment_behind_a_semicolon_belongs_to_what_stands_before_it() -> None:
    text = """CREATE VIEW a AS SELECT 1 AS x; -- of a
CREATE VIEW b AS SELECT 1 AS x; -- of b
-- of c
CREATE VIEW c AS SELECT 1 AS x"""
    assert [found.comment for found in parse_declarations(text, "a.sql").declarations] == [None, None, "of c"]


REFUSALS = [
    case.split("\n", 1)
    for case in (Path(__file__).parent / "refusals.txt").read_text(encoding="utf-8").strip().split("\n\n")
    if not case.startswith("#")
]
"""A statement, and below the place where it is refused, the class of the finding and its summary."""


@pytest.mark.parametrize(("statement", "mark"), REFUSALS, ids=[case[0][:60] for case in REFUSALS])
@pytest.mark.parametrize(("above", "line"), [("", 1), ("-- a comment\n\n", 3)])
def test_what_is_refused_is_named_with_its_place(statement: str, mark: str, above: str, line: int) -> None:
    parsed = parse_declarations(above + statement, "a.sql")
    (finding,) = parsed.findings
    assert f"{type(finding).__name__}: {finding.summary}" == mark.strip().removeprefix("^ ")
    assert finding.origin == errors.Origin("a.sql", line, mark.index("^") + 1)
    assert parsed.declarations == ()


def test_a_length_is_a_caution_and_doesnt_refuse() -> None:
    parsed = parse_declarations("CREATE STREAM s (a VARCHAR(10), b ARRAY<CHAR(3)>)", "a.sql")
    assert [(type(finding), str(finding.origin)) for finding in parsed.findings] == [
        (findings.LengthIgnored, "a.sql:1:20"),
        (findings.LengthIgnored, "a.sql:1:35"),
    ]
    (stream,) = parsed.declarations
    assert isinstance(stream, model.Stream)
    assert [column.type for column in stream.columns] == [pa.string(), pa.list_(pa.string())]


def test_one_refused_statement_doesnt_hide_the_next() -> None:
    text = """CREATE STREAM a (x STRNG);
CREATE STREAM b (x INT) WITH (kye = 'x', idle = 'soon', key = 'y');
nonsense;
CREATE VIEW c AS SELECT FROM b;
CREATE VIEW d AS SELECT x FROM b;
CREATE VIEW e AS SELECT 'never ends"""
    parsed = parse_declarations(text, "a.sql")
    assert [(type(finding).__name__, str(finding.origin)) for finding in parsed.findings] == [
        ("UnknownType", "a.sql:1:20"),
        ("UnknownOption", "a.sql:2:31"),
        ("OptionRefused", "a.sql:2:49"),
        ("KeyNotInOutput", "a.sql:2:63"),
        ("SyntaxRefused", "a.sql:3:1"),
        ("SyntaxRefused", "a.sql:4:18"),
        ("SyntaxRefused", "a.sql:6:25"),
    ]
    assert [declaration.name for declaration in parsed.declarations] == ["d"]
    assert parsed.refused == {"a", "b", "c"}


def test_hints_name_what_is_near() -> None:
    text = "CREATE STREAM s (card_id INT) WITH (unqiue = 'card_id', key = 'cardid')"
    hints = [finding.hint for finding in parse_declarations(text, "a.sql").findings]
    assert hints == ['Did you mean "unique"?', 'Did you mean "card_id"?']


def test_an_empty_file_declares_nothing() -> None:
    assert parse_declarations("", "a.sql") == parse_declarations(" ;; -- nothing\n;", "a.sql")
    assert parse_declarations("", "a.sql").declarations == ()


def test_windows_line_ends_dont_move_places() -> None:
    parsed = parse_declarations("CREATE VIEW v AS\r\nSELECT a\r\nFROM t WHERE;", "a.sql")
    assert [str(finding.origin) for finding in parsed.findings] == ["a.sql:3:13"]


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert parse_declarations("\ufeffCREATE VIEW v AS SELECT 1 AS a", "a.sql").findings == ()


def test_a_query_that_is_nested_too_deeply_is_refused_and_hides_nothing() -> None:
    deep = "(" * 5000 + "1" + ")" * 5000
    parsed = parse_declarations(f"CREATE VIEW v AS SELECT {deep} AS a;\nCREATE VIEW w AS SELECT 1 AS a", "a.sql")
    assert [finding.summary for finding in parsed.findings] == ['view "v" is nested too deeply to be read']
    assert [declaration.name for declaration in parsed.declarations] == ["w"]
