"""Text to model, and every refusal with its place."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from headwater import errors, model
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
        " horizon = '1h', retention = '7d') AS select a from t emit on window close"
    )
    assert view == model.View(
        name="v",
        query=model.SqlQuery("SELECT a FROM t"),
        grace=timedelta(minutes=10),
        late="drop",
        emit=model.Emit.FINAL,
        store="main",
        key=("a", "b,c"),
        horizon=timedelta(hours=1),
        retention=timedelta(days=7),
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
    text = "CREATE VIEW a AS SELECT 1 AS x; -- of a\nCREATE VIEW b AS SELECT 1 AS x; -- of b\n-- of c\nCREATE VIEW c AS SELECT 1 AS x"
    assert [found.comment for found in parse_declarations(text, "a.sql").declarations] == [None, None, "of c"]


REFUSALS = [
    # syntax
    ("SELECT 1", errors.SyntaxRefused, 1, 1, '"SELECT" doesn\'t start a declaration'),
    ("CREATE SINK s AS SELECT 1", errors.SyntaxRefused, 1, 8, 'the statement can\'t be parsed at "SINK"'),
    ("CREATE VIEW v AS SELECT a FORM t WHERE", errors.SyntaxRefused, 1, 32, 'view "v" can\'t be parsed at "t"'),
    ("CREATE VIEW v AS SELECT a, FROM t", errors.SyntaxRefused, 1, 28, 'view "v" can\'t be parsed at "FROM"'),
    ("CREATE VIEW v AS SELECT FROM t", errors.SyntaxRefused, 1, 18, 'view "v" can\'t be parsed at "SELECT"'),
    ("CREATE VIEW v AS", errors.SyntaxRefused, 1, 17, "a view is a query"),
    ("CREATE VIEW v AS INSERT INTO t VALUES (1)", errors.SyntaxRefused, 1, 18, "a view is a query"),
    ("CREATE VIEW v AS SELECT (a FROM t", errors.SyntaxRefused, 1, 28, 'view "v" can\'t be parsed at "FROM"'),
    ("CREATE VIEW v AS SELECT 'a", errors.SyntaxRefused, 1, 25, "the text can't be parsed at \"'\""),
    ("CREATE VIEW v AS SELECT 1 /* x", errors.SyntaxRefused, 1, 27, "the text can't be parsed at \"/\""),
    ("CREATE STREAM a.b (x INT)", errors.SyntaxRefused, 1, 15, "a name has one part"),
    ("CREATE STREAM s (a INT", errors.SyntaxRefused, 1, 23, 'stream "s" can\'t be parsed at its end'),
    ("CREATE STREAM s (a)", errors.SyntaxRefused, 1, 19, 'stream "s" can\'t be parsed at ")"'),
    ("CREATE STREAM s ()", errors.SyntaxRefused, 1, 18, 'stream "s" can\'t be parsed at ")"'),
    ("CREATE STREAM s (wtermark FOR a AS a)", errors.SyntaxRefused, 1, 18, '"wtermark" is not a clause'),
    ("CREATE STREAM s (a INT) WITH (key 'a')", errors.SyntaxRefused, 1, 35, 'stream "s" can\'t be parsed at "a"'),
    ("CREATE STREAM s (a INT) WITH (key = a)", errors.SyntaxRefused, 1, 37, 'stream "s" can\'t be parsed at "a"'),
    ("CREATE FUNCTION f(a INT) RETURNS INT a + 1", errors.SyntaxRefused, 1, 38, 'function "f" can\'t be parsed at "a"'),
    # clauses
    ("CREATE OR REPLACE VIEW v AS SELECT 1", errors.ClauseRefused, 1, 11, "a declaration can't be replaced by another"),
    ("CREATE TEMPORARY VIEW v AS SELECT 1", errors.ClauseRefused, 1, 8, "TEMPORARY means nothing here"),
    ("CREATE TABLE t (a INT)", errors.ClauseRefused, 1, 1, 'table "t" has neither a primary key nor a watermark'),
    ("CREATE STREAM s (a INT, PRIMARY KEY (a))", errors.ClauseRefused, 1, 25, 'stream "s" has a primary key'),
    ("CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)", errors.ClauseRefused, 1, 36, 'table "t" has two primary keys'),
    ("CREATE TABLE t (a INT AS (b + 1))", errors.ClauseRefused, 1, 23, "a stream or table can't have computed columns"),
    ("CREATE TABLE t (a AS b + 1)", errors.ClauseRefused, 1, 19, "a stream or table can't have computed columns"),
    ("CREATE TABLE t (a INT GENERATED ALWAYS AS (1))", errors.ClauseRefused, 1, 23, "a stream or table can't have computed columns"),
    ("CREATE TABLE t (a INT METADATA FROM 'x' VIRTUAL)", errors.ClauseRefused, 1, 23, "a stream or table can't have METADATA columns"),
    ("CREATE TABLE t (a METADATA)", errors.ClauseRefused, 1, 19, "a stream or table can't have METADATA columns"),
    ("CREATE TABLE t (a INT DEFAULT 1)", errors.ClauseRefused, 1, 23, "a stream or table can't have DEFAULT"),
    ("CREATE STREAM s (a INT) PARTITIONED BY (a)", errors.ClauseRefused, 1, 25, 'CREATE STREAM has no clause "PARTITIONED BY"'),
    ("CREATE STREAM s (a INT) FORMAT PLAIN", errors.ClauseRefused, 1, 25, 'CREATE STREAM has no clause "FORMAT"'),
    ("CREATE TABLE s (a INT) AS SELECT 1", errors.ClauseRefused, 1, 24, "CREATE TABLE takes no query"),
    ("CREATE VIEW v (a) AS SELECT 1", errors.ClauseRefused, 1, 15, "a view takes no list of columns"),
    ("CREATE FUNCTION f() RETURNS TABLE (a INT) RETURN SELECT 1", errors.ClauseRefused, 1, 29, "a function gives one value, not a table"),
    ("CREATE FUNCTION f() RETURNS INT AS 'com.acme.F'", errors.ClauseRefused, 1, 36, "a function can't be a class or a script"),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at, WATERMARK FOR at AS at)", errors.ClauseRefused, 1, 56, 'stream "s" has two clauses of one kind'),
    # names and types
    ("CREATE STREAM s (_id INT)", errors.ReservedName, 1, 18, 'stream "s" declares a column "_id"'),
    ("CREATE STREAM s (a INT, A STRING)", errors.DuplicateName, 1, 25, 'stream "s" declares the column "A" twice'),
    ("CREATE FUNCTION f(a INT, A INT) RETURNS INT RETURN 1", errors.DuplicateName, 1, 26, 'function "f" declares the parameter "A" twice'),
    ("CREATE STREAM s (a STRNG)", errors.UnknownType, 1, 20, '"STRNG" is not a type'),
    ("CREATE STREAM s (a JSON)", errors.UnknownType, 1, 20, '"JSON" is not a type of Spark SQL'),
    ("CREATE STREAM s (a DECIMAL(40, 2))", errors.UnknownType, 1, 20, "DECIMAL(40, 2) is not a type"),
    ("CREATE STREAM s (a TIME)", errors.UnknownType, 1, 20, 'stream "s" declares "a" as TIME, which the log can\'t keep'),
    ("CREATE STREAM s (a ARRAY<VARIANT>)", errors.UnknownType, 1, 20, 'stream "s" declares "a" as ARRAY<VARIANT>, which the log can\'t keep'),
    # keys
    ("CREATE STREAM s (card INT) WITH (key = 'crd')", errors.KeyNotInOutput, 1, 40, 'stream "s" names an unknown column "crd" in option "key"'),
    ("CREATE STREAM s (a INT) WITH (unique = 'a, b')", errors.KeyNotInOutput, 1, 40, 'stream "s" names an unknown column "b" in option "unique"'),
    ("CREATE TABLE t (a INT, PRIMARY KEY (b))", errors.KeyNotInOutput, 1, 37, 'table "t" names an unknown column "b" in PRIMARY KEY'),
    ("CREATE STREAM s (a INT, PERSONAL (b) OF a)", errors.UnknownColumn, 1, 35, 'stream "s" names an unknown column "b" in PERSONAL'),
    ("CREATE STREAM s (a INT, PERSONAL (a) OF c)", errors.UnknownColumn, 1, 41, 'stream "s" names an unknown column "c" in PERSONAL'),
    # watermarks
    ("CREATE STREAM s (a INT, WATERMARK FOR at AS at)", errors.UnknownColumn, 1, 39, 'stream "s" names an unknown column "at" in WATERMARK'),
    ("CREATE STREAM s (at TIMESTAMP_NTZ, WATERMARK FOR at AS at - INTERVAL 1 SECOND)", errors.WatermarkRefused, 1, 50, 'stream "s" takes time from "at", which is a TIMESTAMP_NTZ'),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS date_trunc('DAY', at))", errors.WatermarkRefused, 1, 52, "the watermark follows from an expression we don't know"),
    ("CREATE STREAM s (at TIMESTAMP, b TIMESTAMP, WATERMARK FOR at AS b - INTERVAL 1 SECOND)", errors.WatermarkRefused, 1, 65, "the watermark follows from an expression we don't know"),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND - INTERVAL '1' SECOND)", errors.WatermarkRefused, 1, 52, "the watermark follows from an expression we don't know"),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' MONTH)", errors.WatermarkRefused, 1, 57, "the delay of a watermark is not a constant interval of fixed length"),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '-1' SECOND)", errors.WatermarkRefused, 1, 57, "the delay of a watermark is negative"),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - QUANTILE(1.5, INTERVAL 1 SECOND, INTERVAL 2 SECOND))", errors.WatermarkRefused, 1, 66, 'stream "s" has a QUANTILE of 1.5'),
    ("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at - QUANTILE(0.9, INTERVAL 3 SECOND, INTERVAL 2 SECOND))", errors.WatermarkRefused, 1, 57, 'stream "s" has a least delay above its most'),
    # options
    ("CREATE STREAM s (a INT) WITH (kye = 'a')", errors.UnknownOption, 1, 31, 'stream "s" has no option "kye"'),
    ("CREATE TABLE t (a INT PRIMARY KEY) WITH (key = 'a')", errors.UnknownOption, 1, 42, 'table "t" has no option "key"'),
    ("CREATE STREAM s (a INT) WITH ('connector' = 'kafka')", errors.UnknownOption, 1, 31, 'stream "s" has no option "connector"'),
    ("CREATE STREAM s (a INT) WITH (scan.startup.mode = 'x')", errors.UnknownOption, 1, 31, 'stream "s" has no option "scan.startup.mode"'),
    ("CREATE VIEW v WITH (grace = '1s') AS SELECT 1", errors.UnknownOption, 1, 21, 'view "v" has no option "grace"'),
    ("CREATE STREAM s (a INT) WITH (idle = 'soon')", errors.OptionRefused, 1, 38, 'stream "s" gives option "idle" a value that it can\'t take'),
    ("CREATE STREAM s (a INT) WITH (idle = 30)", errors.OptionRefused, 1, 38, 'stream "s" gives option "idle" a value that it can\'t take'),
    ("CREATE STREAM s (a INT) WITH (idle = '1s', idle = '2s')", errors.OptionRefused, 1, 44, 'stream "s" gives option "idle" twice'),
    ("CREATE STREAM s (a INT) WITH (idle = '99999999999 weeks')", errors.OptionRefused, 1, 38, 'stream "s" gives option "idle" a value that it can\'t take'),
    ("CREATE MATERIALIZED VIEW v WITH (late = TRUE) AS SELECT 1", errors.OptionRefused, 1, 41, 'materialized view "v" gives option "late" a value that it can\'t take'),
    ("CREATE MATERIALIZED VIEW v WITH (emit = 'now') AS SELECT 1", errors.OptionRefused, 1, 41, 'materialized view "v" gives option "emit" a value that it can\'t take'),
    ("CREATE MATERIALIZED VIEW v WITH (key = 'a,,b') AS SELECT 1", errors.OptionRefused, 1, 40, 'materialized view "v" gives option "key" a value that it can\'t take'),
    ("CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS SELECT 1 EMIT CHANGES", errors.EmitRefused, 1, 62, "materialized view \"v\" says EMIT CHANGES and emit = 'final'"),
    ("CREATE VIEW v AS SELECT 1 EMIT CHANGES", errors.EmitRefused, 1, 27, 'view "v" emits nothing: it isn\'t materialized'),
    # windows, as of, patterns
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at))", errors.SyntaxRefused, 1, 32, "TUMBLE lacks SIZE"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, at, INTERVAL 1 DAY, INTERVAL 1 DAY, 3)", errors.SyntaxRefused, 1, 78, "TUMBLE takes at most 4 arguments"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, at, SIZ => INTERVAL 1 DAY)", errors.SyntaxRefused, 1, 46, 'TUMBLE has no argument "SIZ"'),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, at, INTERVAL 1 DAY, SIZE => INTERVAL 1 DAY)", errors.SyntaxRefused, 1, 62, "TUMBLE is given SIZE twice"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, at, INTERVAL '1' MONTH)", errors.SyntaxRefused, 1, 46, "the size of TUMBLE is not a constant interval of fixed length"),
    ("CREATE VIEW v AS SELECT * FROM a, TUMBLE(t, at, x)", errors.SyntaxRefused, 1, 49, "the size of TUMBLE is not a constant interval of fixed length"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, at, INTERVAL '0' DAY)", errors.SyntaxRefused, 1, 46, "the size of TUMBLE is not positive"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t, t.at, INTERVAL '1' DAY)", errors.SyntaxRefused, 1, 42, "TUMBLE takes its event-time column by its plain name"),
    ("CREATE VIEW v AS SELECT * FROM HOP(t, at, INTERVAL 2 DAYS, INTERVAL 1 DAY)", errors.SyntaxRefused, 1, 32, "the slide of HOP is longer than its size"),
    ("CREATE VIEW v AS SELECT * FROM CUMULATE(t, at, INTERVAL 2 DAYS, INTERVAL 3 DAYS)", errors.SyntaxRefused, 1, 32, "the size of CUMULATE is not a multiple of its step"),
    ("CREATE VIEW v AS SELECT * FROM TUMBLE(t PARTITION BY a, at, INTERVAL 1 DAY)", errors.SyntaxRefused, 1, 41, "TUMBLE takes no PARTITION BY"),
    ("CREATE VIEW v AS SELECT * FROM SESSION(t PARTITION BY f(a), at, INTERVAL 1 DAY)", errors.SyntaxRefused, 1, 55, "SESSION is partitioned by something that isn't a column"),
    ("CREATE VIEW v AS SELECT at AT TIME ZONE 'UTC' FROM t", errors.SyntaxRefused, 1, 28, "Spark SQL has no AT TIME ZONE"),
    ("CREATE VIEW v AS SELECT * FROM t VERSION AS OF 3", errors.SyntaxRefused, 1, 34, "a table has no numbered versions"),
    ("CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE (MEASURES a.x PATTERN (a))", errors.SyntaxRefused, 1, 60, "a measure has no name"),
    ("CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b) DEFINE a)", errors.SyntaxRefused, 1, 72, "a pattern variable has no condition"),
    ("CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a (b))  c)", errors.SyntaxRefused, 1, 68, 'view "v" can\'t be parsed at "c"'),
    ("CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a + + ))", errors.SyntaxRefused, 1, 64, 'view "v" can\'t be parsed at "+"'),
    ("CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) WITHIN INTERVAL 1 MONTH)", errors.SyntaxRefused, 1, 70, "WITHIN is not a constant interval of fixed length"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "line", "column", "summary"), REFUSALS, ids=[row[0][:60] for row in REFUSALS])
def test_what_is_refused_is_named_with_its_place(
    text: str, kind: type[errors.DeclarationError], line: int, column: int, summary: str
) -> None:
    for above in ("", "\n\n  "):
        parsed = parse_declarations(above + text, "a.sql")
        (finding,) = parsed.findings
        shift = (2, 2) if above else (0, 0)
        assert (type(finding), finding.summary) == (kind, summary)
        assert finding.origin == errors.Origin("a.sql", line + shift[0], column + shift[1])
        assert parsed.declarations == ()


def test_a_length_is_a_caution_and_doesnt_refuse() -> None:
    parsed = parse_declarations("CREATE STREAM s (a VARCHAR(10), b ARRAY<CHAR(3)>)", "a.sql")
    assert [(type(finding), str(finding.origin)) for finding in parsed.findings] == [
        (errors.LengthIgnored, "a.sql:1:20"),
        (errors.LengthIgnored, "a.sql:1:35"),
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
    assert hints == [
        'Did you mean "unique"? A stream has the options key, unique, idle, max_ahead.',
        'Did you mean "card_id"?',
    ]


def test_an_empty_file_declares_nothing() -> None:
    assert parse_declarations("", "a.sql") == parse_declarations(" ;; -- nothing\n;", "a.sql")
    assert parse_declarations("", "a.sql").declarations == ()


def test_windows_line_ends_dont_move_places() -> None:
    parsed = parse_declarations("CREATE VIEW v AS\r\nSELECT a\r\nFROM t WHERE;", "a.sql")
    assert [str(finding.origin) for finding in parsed.findings] == ["a.sql:3:13"]
