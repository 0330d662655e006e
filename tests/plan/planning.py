"""Small projects as text, and where in the text something is expected to be found."""

from __future__ import annotations

import re

from headwater import model, plan, sql
from headwater.errors import Finding, Origin
from headwater.findings import NotSupportedYet

FILE = "project.sql"
STORES = (
    model.Store(name="main", url="sqlite:"),
    model.Store(name="archive", url="folder:", takes=frozenset({model.Emit.FINAL})),
)
_MARK = re.compile(r"^\s*--\s*(\^) here$", re.MULTILINE)

STREAMS = """
CREATE STREAM orders (
  id STRING NOT NULL, customer STRING, amount DECIMAL(12, 2), weight DOUBLE, items ARRAY<STRING>, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
);
CREATE STREAM payments (
  id STRING NOT NULL, order_id STRING, paid DECIMAL(12, 2), at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (unique = 'id');
CREATE STREAM clicks (id STRING, customer STRING, at TIMESTAMP);
CREATE TABLE customers (
  customer STRING, country STRING, changed_at TIMESTAMP,
  PRIMARY KEY (customer), WATERMARK FOR changed_at AS changed_at
);
CREATE TABLE countries (country STRING, name STRING, PRIMARY KEY (country));
"""


def declared(text: str, *, streams: str = STREAMS) -> tuple[model.Project, tuple[Finding, ...]]:
    """The project that a text declares beside the streams above, and what its parser found."""
    known = sql.parse_declarations(streams, "streams.sql")
    parsed = sql.parse_declarations(text, FILE)
    declarations = (*known.declarations, *parsed.declarations)
    project = model.Project(name="shop", declarations=declarations, stores=STORES)
    return project, (*known.findings, *parsed.findings)


def planned(text: str) -> plan.Plan:
    """The plan of the project that a text declares."""
    return plan.check(declared(text)[0])


def view(query: str, options: str = "") -> plan.PlannedView:
    """The plan of one view `v`, which has no findings but cautions, and what has no executor yet."""
    return known(planned(f"CREATE MATERIALIZED VIEW v {options} AS {query}")).views["v"]


def known(checked: plan.Plan) -> plan.Plan:
    """The plan of a project that is right, though an executor of some of it may be missing."""
    errors = [found for found in checked.errors if not isinstance(found, NotSupportedYet)]
    assert not errors, errors
    return checked


def stages(query: str, options: str = "") -> list[str]:
    """The stages of one view, as they are printed, the last first and each input one step further in."""
    text = plan.describe_view(view(query, options))
    found = text.split("  stages\n")[1].split("  lineage\n")[0]
    return [line[4:] for line in found.splitlines()]


def marked(text: str) -> Origin:
    """The place that a line `--   ^ here` points at: the column of its arrow, in the line above it."""
    (found,) = _MARK.finditer(text)
    line = text.count("\n", 0, found.start(1))
    column = found.start(1) - text.rfind("\n", 0, found.start(1))
    return Origin(FILE, line, column)
