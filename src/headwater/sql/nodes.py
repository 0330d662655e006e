"""The nodes that our dialect adds to sqlglot's syntax tree.

A *statement* is one CREATE; a *clause* is what stands in its parentheses beside the columns; an *option* is one
`name = value` of its WITH. In queries there are two more: the window table function and the pattern.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Option(exp.Expression):
    """`this = expression` in a WITH."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class Watermark(exp.Expression):
    """`WATERMARK FOR this AS expression`; `expression` is a column, or a column minus an interval or `LearnedDelay`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class LearnedDelay(exp.Expression):
    """`QUANTILE(share, least, most)` in a watermark."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "least": True, "most": True}


class KeyClause(exp.Expression):
    """`PRIMARY KEY (expressions)`."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class PersonalClause(exp.Expression):
    """`PERSONAL (expressions) OF this`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}


class ColumnClause(exp.Expression):
    """`this kind [NOT NULL] [PRIMARY KEY] [DEFAULT default] [ALIAS (aliases)] [COMMENT comment]`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "required": False,
        "primary": False,
        "default": False,
        "aliases": False,
        "comment": False,
    }


class CreateTopic(exp.Expression):
    """`CREATE kind this [(expressions)] [COMMENT comment] [WITH (options)]`; `kind` is STREAM, TABLE or SOURCE."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "expressions": False,
        "comment": False,
        "options": False,
        "exists": False,
    }


class CreateView(exp.Expression):
    """`CREATE [MATERIALIZED] VIEW this [COMMENT comment] [WITH (options)] AS expression [EMIT emit]`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expression": True,
        "materialized": False,
        "comment": False,
        "options": False,
        "emit": False,
        "exists": False,
    }


class CreateFunction(exp.Expression):
    """`CREATE FUNCTION this(expressions) RETURNS returns [COMMENT comment] RETURN expression`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expressions": False,
        "returns": True,
        "expression": True,
        "comment": False,
        "exists": False,
    }


class CreateOutlet(exp.Expression):
    """`CREATE OUTLET this FROM view TO expression [COMMENT comment] [WITH (options)]`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "view": True,
        "expression": True,
        "comment": False,
        "options": False,
        "exists": False,
    }


class WindowFunction(exp.Expression):
    """`kind(TABLE this [PARTITION BY partition_by], DESCRIPTOR(time), expressions [, zone])`, inside an `exp.Table`.

    `kind` is TUMBLE, HOP, CUMULATE or SESSION; `expressions` are the constant intervals in Flink's order: size; slide
    and size; step and size; gap; then the offset, if there is one. `zone` is the text of a time zone, of TUMBLE only.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "time": True,
        "expressions": True,
        "partition_by": False,
        "zone": False,
    }


class KnownVersion(exp.Version):
    """`[FOR SYSTEM_TIME AS OF expression] AS KNOWN AT known_at` behind a table."""

    arg_types: ClassVar[dict[str, bool]] = {**exp.Version.arg_types, "known_at": True}


class PatternMatch(exp.MatchRecognize):
    """MATCH_RECOGNIZE with Flink's WITHIN. `pattern` is an `exp.Var` with the pattern in its canonical spelling."""

    arg_types: ClassVar[dict[str, bool]] = {**exp.MatchRecognize.arg_types, "within": False, "subset": False}
