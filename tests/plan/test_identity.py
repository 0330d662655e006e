"""What a stream may say about copies of an event, and what it means for the views of it."""

from __future__ import annotations

import pytest

from headwater import model, plan, sql
from headwater.errors import Finding
from headwater.findings import NoWatermark, OptionRefused
from headwater.plan import Plan

QUERY = "SELECT user, note FROM notes"
WATERMARK = ", WATERMARK FOR at AS at - INTERVAL '5' SECOND"


def planned(options: str, query: str = QUERY, watermark: str = WATERMARK) -> Plan:
    text = f"CREATE STREAM notes (user STRING, note STRING, at TIMESTAMP{watermark}) WITH ({options});"
    parsed = sql.parse_declarations(f"{text} CREATE MATERIALIZED VIEW v AS {query}", "notes.sql")
    assert not parsed.findings
    return plan.check(model.Project(name="notes", declarations=parsed.declarations))


def test_a_view_of_events_that_are_read_once_within_a_span_is_settled() -> None:
    found = planned("unique = 'user, note', within = '24 hours'").checked().view("v")
    assert (found.execution.kind, found.emit) == ("settle", model.Emit.CHANGES)
    assert found.execution.why == "which of the events with one id is taken is decided over the log"
    assert "Scan stream notes once per id within 1 day: user, note" in plan.describe_view(found)
    assert found.fingerprint != planned("unique = 'user, note', within = '2 days'").view("v").fingerprint


def test_the_place_of_an_event_that_is_read_once_within_a_span_can_be_named() -> None:
    assert planned("unique = 'note', within = '1 hour'", "SELECT note, _commit AS c FROM notes").checked().view("v")
    assert planned("unique = 'note'", "SELECT note, _commit AS c FROM notes").errors


def test_such_an_event_has_no_identity_left_to_deduplicate_by() -> None:
    query = f"{QUERY} QUALIFY row_number() OVER (PARTITION BY user, note ORDER BY at) = 1"
    assert not planned("unique = 'user, note'", query).errors
    (finding,) = planned("unique = 'user, note', within = '24 hours'", query).errors
    assert finding.code() == "unbounded-state"


@pytest.mark.parametrize(
    ("options", "watermark", "kind", "summary"),
    [
        ("within = '1 hour'", WATERMARK, OptionRefused,
         'stream "notes" says within without saying what is unique'),
        ("unique = 'note', within = '0 seconds'", WATERMARK, OptionRefused,
         'stream "notes" says within of no time'),
        ("unique = 'note', within = '1 hour'", "", NoWatermark,
         'stream "notes" says within, and declares no watermark'),
    ],
)  # fmt: skip
def test_a_span_that_cannot_be_kept_is_refused(options: str, watermark: str, kind: type[Finding], summary: str) -> None:
    (finding,) = planned(options, watermark=watermark).errors
    assert (type(finding), finding.summary) == (kind, summary)


@pytest.mark.parametrize(("kind", "said"), [("DOUBLE", "as a DECIMAL"), ("ARRAY<STRING>", "columns of their own")])
def test_a_table_is_not_folded_by_values_that_can_not_be_found(kind: str, said: str) -> None:
    parsed = sql.parse_declarations(
        f"CREATE TABLE rates (code STRING, of {kind}, PRIMARY KEY (code, of));", "rates.sql"
    )
    (finding,) = plan.check(model.Project(name="bank", declarations=parsed.declarations)).errors
    assert (finding.code(), said in (finding.hint or "")) == ("not-supported-yet", True)
    assert f"a key of {kind}" in finding.summary
