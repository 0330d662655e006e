"""From the syntax tree back to text: what the parser reads, in one spelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from headwater.sql.nodes import (
    ColumnClause,
    CreateFunction,
    CreateOutlet,
    CreateTopic,
    CreateView,
    KeyClause,
    KnownVersion,
    LearnedDelay,
    Option,
    PatternMatch,
    PersonalClause,
    Watermark,
    WindowFunction,
)

_REWRITTEN = (
    exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.From, exp.ILike, exp.Pivot, exp.Select, exp.Table, exp.Unnest,
    exp.WithinGroup,
)  # fmt: skip
"""The nodes that sqlglot writes in other words for the sake of older Sparks."""


class HeadwaterGenerator(SparkGenerator):
    """Writes our dialect. Unlike Spark's generator it rewrites nothing: QUALIFY stays QUALIFY, TIME stays TIME."""

    INTERVAL_ALLOWS_PLURAL_FORM = False
    SUPPORTS_TEMPORAL_PRECISION = False

    TYPE_MAPPING: ClassVar[dict[exp.DType, str]] = {
        kind: name for kind, name in SparkGenerator.TYPE_MAPPING.items() if kind != exp.DType.TIME
    }

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **{kind: transform for kind, transform in SparkGenerator.TRANSFORMS.items() if kind not in _REWRITTEN},
        # sqlglot finds the methods of its own nodes by name; those of ours it is told
        ColumnClause: lambda self, node: self.columnclause_sql(node),
        CreateFunction: lambda self, node: self.createfunction_sql(node),
        CreateOutlet: lambda self, node: self.createoutlet_sql(node),
        CreateTopic: lambda self, node: self.createtopic_sql(node),
        CreateView: lambda self, node: self.createview_sql(node),
        KeyClause: lambda self, node: self.keyclause_sql(node),
        KnownVersion: lambda self, node: self.knownversion_sql(node),
        LearnedDelay: lambda self, node: self.learneddelay_sql(node),
        Option: lambda self, node: self.option_sql(node),
        PatternMatch: lambda self, node: self.patternmatch_sql(node),
        PersonalClause: lambda self, node: self.personalclause_sql(node),
        Watermark: lambda self, node: self.watermark_sql(node),
        WindowFunction: lambda self, node: self.windowfunction_sql(node),
    }

    # Queries

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        literal = expression.this
        if expression.to.is_type(exp.DType.TIME) and isinstance(literal, exp.Literal) and literal.is_string:
            # Spark reads TIME '10:00' also where it is told not to cast to TIME
            return f"TIME {self.sql(literal)}"
        return super().cast_sql(expression, safe_prefix)

    def datatype_sql(self, expression: exp.DataType) -> str:
        spelled = super().datatype_sql(expression)
        return f"{spelled} NOT NULL" if expression.args.get("nullable") is False else spelled

    def unnest_sql(self, expression: exp.Unnest) -> str:
        alias, number = expression.args.get("alias"), expression.args.get("offset")
        named = alias
        if alias is not None and isinstance(number, exp.Identifier):
            named = exp.TableAlias(this=alias.this, columns=[*alias.columns, number])
        spelled = f"UNNEST({self.expressions(expression, flat=True)}){' WITH ORDINALITY' if number else ''}"
        return f"{spelled} AS {self.sql(named)}" if named else spelled

    def version_sql(self, expression: exp.Version) -> str:
        return f"FOR SYSTEM_TIME AS OF {self.sql(expression, 'expression')}"

    def knownversion_sql(self, expression: KnownVersion) -> str:
        as_of = f"{self.version_sql(expression)} " if expression.args.get("expression") else ""
        return f"{as_of}AS KNOWN AT {self.sql(expression, 'known_at')}"

    def windowspec_sql(self, expression: exp.WindowSpec) -> str:
        for word in ("kind", "start_side", "end_side"):
            if expression.args.get(word):
                expression.set(word, expression.text(word).upper())
        return super().windowspec_sql(expression)

    def windowfunction_sql(self, expression: WindowFunction) -> str:
        keys = self.expressions(expression, key="partition_by", flat=True)
        source = self.sql(expression, "this")
        table = source if isinstance(expression.this, exp.Subquery) else f"TABLE {source}"
        lengths = self.expressions(expression, flat=True)
        lengths += f", {self.sql(expression, 'zone')}" if expression.args.get("zone") else ""
        partition = f" PARTITION BY {keys}" if keys else ""
        return f"{expression.text('kind')}({table}{partition}, DESCRIPTOR({self.sql(expression, 'time')}), {lengths})"

    def patternmatch_sql(self, expression: PatternMatch) -> str:
        parts = [self.partition_by_sql(expression).strip(), self.sql(expression, "order").strip()]
        measures = self.expressions(expression, key="measures", flat=True)
        parts += [
            f"MEASURES {measures}" if measures else "",
            self.sql(expression, "rows"),
            self.sql(expression, "after"),
        ]
        parts.append(f"PATTERN ({self.sql(expression, 'pattern')})")
        within = self.sql(expression, "within")
        parts.append(f"WITHIN {within}" if within else "")
        subsets = self.expressions(expression, key="subset", flat=True)
        parts.append(f"SUBSET {subsets}" if subsets else "")
        define = ", ".join(
            f"{self.sql(part, 'alias')} AS {self.sql(part, 'this')}" for part in expression.args.get("define") or ()
        )
        parts.append(f"DEFINE {define}" if define else "")
        alias = self.sql(expression, "alias")
        body = self.sep().join(part for part in parts if part)
        return f"{self.seg('MATCH_RECOGNIZE')} {self.wrap(body)}{f' AS {alias}' if alias else ''}"

    # Statements

    def option_sql(self, expression: Option) -> str:
        return f"{self.sql(expression, 'this')} = {self.sql(expression, 'expression')}"

    def watermark_sql(self, expression: Watermark) -> str:
        return f"WATERMARK FOR {self.sql(expression, 'this')} AS {self.sql(expression, 'expression')}"

    def learneddelay_sql(self, expression: LearnedDelay) -> str:
        bounds = f"{self.sql(expression, 'least')}, {self.sql(expression, 'most')}"
        return f"QUANTILE({self.sql(expression, 'this')}, {bounds})"

    def keyclause_sql(self, expression: KeyClause) -> str:
        return f"PRIMARY KEY ({self.expressions(expression, flat=True)})"

    def personalclause_sql(self, expression: PersonalClause) -> str:
        return f"PERSONAL ({self.expressions(expression, flat=True)}) OF {self.sql(expression, 'this')}"

    def columnclause_sql(self, expression: ColumnClause) -> str:
        required = " NOT NULL" if expression.args.get("required") else ""
        primary = " PRIMARY KEY" if expression.args.get("primary") else ""
        name, kind = self.sql(expression, "this"), self.sql(expression, "kind")
        return f"{name} {kind}{required}{primary}{self._comment(expression)}"

    def createtopic_sql(self, expression: CreateTopic) -> str:
        exists = "IF NOT EXISTS " if expression.args.get("exists") else ""
        body = f" {self.wrap(self.expressions(expression))}" if expression.expressions else ""
        head = f"CREATE {expression.text('kind')} {exists}{self.sql(expression, 'this')}{body}"
        return f"{head}{self._comment(expression)}{self._options(expression)}"

    def createview_sql(self, expression: CreateView) -> str:
        kind = "MATERIALIZED VIEW" if expression.args.get("materialized") else "VIEW"
        exists = "IF NOT EXISTS " if expression.args.get("exists") else ""
        head = f"CREATE {kind} {exists}{self.sql(expression, 'this')}"
        query = f" AS{self.sep()}{self.sql(expression, 'expression')}"
        emit = self.sql(expression, "emit")
        tail = f"{self.sep()}EMIT {emit}" if emit else ""
        return f"{head}{self._comment(expression)}{self._options(expression)}{query}{tail}"

    def createfunction_sql(self, expression: CreateFunction) -> str:
        exists = "IF NOT EXISTS " if expression.args.get("exists") else ""
        parameters = self.expressions(expression, flat=True)
        head = f"CREATE FUNCTION {exists}{self.sql(expression, 'this')}({parameters})"
        returns = f" RETURNS {self.sql(expression, 'returns')}"
        return f"{head}{returns}{self._comment(expression)}{self.sep()}RETURN {self.sql(expression, 'expression')}"

    def createoutlet_sql(self, expression: CreateOutlet) -> str:
        exists = "IF NOT EXISTS " if expression.args.get("exists") else ""
        name, view, target = (self.sql(expression, part) for part in ("this", "view", "expression"))
        head = f"CREATE OUTLET {exists}{name} FROM {view} TO {target}"
        return f"{head}{self._comment(expression)}{self._options(expression)}"

    def _comment(self, expression: exp.Expr) -> str:
        comment = self.sql(expression, "comment")
        return f" COMMENT {comment}" if comment else ""

    def _options(self, expression: exp.Expr) -> str:
        options = self.expressions(expression, key="options", flat=True)
        return f"{self.sep()}WITH ({options})" if options else ""
