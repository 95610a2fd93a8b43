"""Checklist items that are ticked with and without reading."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.evaluation.checklist import BackingRow, ChecklistItem
from companyos_gateway.evaluation.evidence import Evidence
from companyos_shared.wire.control import Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, audit

CONTRACT = BackingRow("datahub", "records", "CTR-1")
VENDOR = BackingRow("datahub", "vendors", "VEN-1")
POLICY = BackingRow("datahub", "policies", "POL-1", version=3)
OPEN = {"id": "item-1", "ticket_key": "OPS-1", "done_at": None, "done_by": None}
DONE = {"done_at": NOW.isoformat(), "done_by": "E-1"}


def _builder() -> EvidenceBuilder:
    return EvidenceBuilder(ticketdesk={"checklist_items": {"item-1": OPEN}}, datahub={})


def _tick(builder: EvidenceBuilder) -> None:
    """Make other changes first, so that responses at earlier steps come before, then tick the item."""
    for number in range(9):
        builder.put("ticketdesk", "comments", f"comment-{number}", id=f"comment-{number}")
    builder.put("ticketdesk", "checklist_items", "item-1", **DONE)


def _show(evidence: Evidence, step: int, response: Any, **arguments: Any) -> None:
    evidence.record("datahub", Report(audit=audit(step, arguments=arguments)), response)


def _is_known(evidence: Evidence, *backing: BackingRow) -> bool:
    return ChecklistItem("item-1", tuple((row,) for row in backing)).find_unread(evidence) is None


@pytest.mark.parametrize(
    ("row", "response", "counts"),
    [
        (CONTRACT, {"id": "CTR-1", "state": "active", "fields": {}}, True),
        (CONTRACT, {"items": [{"id": "CTR-2", "state": "draft"}, {"id": "CTR-1", "state": "active"}]}, True),
        (CONTRACT, {"items": [{"id": "CTR-2", "state": "draft"}]}, False),
        (CONTRACT, {"id": "APR-1", "subject": "CTR-1", "status": "pending"}, False),
        (VENDOR, {"id": "VEN-1", "status": "active"}, True),
        (VENDOR, {"items": [{"id": "VEN-1", "kind": "vendor", "state": "active"}]}, True),
        (VENDOR, {"id": "CTR-1", "vendor_id": "VEN-1", "state": "active"}, False),
        (POLICY, {"policy_id": "POL-1", "version": 3, "body": "1. Scope"}, True),
        (POLICY, {"policy_id": "POL-1", "version": 2, "body": "1. Scope"}, False),
        (POLICY, {"items": [{"policy_id": "POL-1", "version": 3, "title": "Renewals"}]}, False),
    ],
)
def test_a_response_counts_if_it_shows_the_row(row: BackingRow, response: Any, *, counts: bool) -> None:
    builder = _builder()
    _show(builder.evidence, 4, response)
    _tick(builder)
    assert _is_known(builder.evidence, row) is counts


def test_a_page_counts_like_a_response() -> None:
    builder = _builder()
    builder.evidence.add_view(4, [{"id": "CTR-1", "state": "active"}])
    _tick(builder)
    assert _is_known(builder.evidence, CONTRACT)


def test_a_row_that_is_shown_with_or_after_the_tick_does_not_count() -> None:
    builder = _builder()
    _tick(builder)
    _show(builder.evidence, 10, {"id": "CTR-1", "state": "active"})
    mismatch = ChecklistItem("item-1", ((CONTRACT,),)).find_unread(builder.evidence)
    assert mismatch is not None
    assert (mismatch.entity, mismatch.step) == ("ticketdesk.checklist_items[item-1]", 10)
    assert mismatch.expected == "ticked after datahub.records[CTR-1] had been shown to the agent"
    assert mismatch.source_id == "CTR-1"


def test_an_item_that_is_open_or_ticked_by_a_colleague_requires_no_reading() -> None:
    builder = _builder()
    assert _is_known(builder.evidence, CONTRACT)
    builder.put_by_clock("ticketdesk", "checklist_items", "item-1", **DONE)
    assert _is_known(builder.evidence, CONTRACT)


def test_an_item_that_is_reopened_and_ticked_again_after_reading_is_known() -> None:
    builder = _builder()
    _tick(builder)
    builder.put("ticketdesk", "checklist_items", "item-1", done_at=None, done_by=None)
    _show(builder.evidence, 11, {"id": "CTR-1", "state": "active"})
    _tick(builder)
    assert _is_known(builder.evidence, CONTRACT)


def test_all_rows_and_one_of_each_alternative_are_required() -> None:
    builder = _builder()
    _show(builder.evidence, 1, {"id": "VEN-1", "status": "active"})
    _tick(builder)
    assert not _is_known(builder.evidence, VENDOR, CONTRACT)
    assert ChecklistItem("item-1", ((CONTRACT, VENDOR),)).find_unread(builder.evidence) is None
