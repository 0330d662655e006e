"""Queries of views: one SQL, that of views, whatever store the rows are in.

A statement is typed as Spark would type it, written in DuckDB's SQL such that every value and every type is the one
that Spark would give, and answered by DuckDB over the rows of the store. What has no exact counterpart is refused.
docs/design/20261118_reading-views.md says why.
"""

from headwater.query.answer import Readable, answer, select
from headwater.query.engine import Engine, Limits
from headwater.query.statement import Statement, parse

__all__ = ["Engine", "Limits", "Readable", "Statement", "answer", "parse", "select"]
