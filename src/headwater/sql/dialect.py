"""Our dialect: Spark SQL for expressions, and for streaming the syntax that Flink and RisingWave users know."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

from headwater.sql.generator import HeadwaterGenerator
from headwater.sql.statements import HeadwaterParser


class Headwater(Spark):
    """`sqlglot.parse_one(text, dialect=Headwater)` reads it, `node.sql(dialect=Headwater)` writes it."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']  # since Spark 4, 'it''s' is one text with a quote in it
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.KEYWORDS,
            "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
        }

    Parser = HeadwaterParser
    Generator = HeadwaterGenerator
