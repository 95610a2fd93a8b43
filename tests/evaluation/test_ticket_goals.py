"""Several tickets at once: exactly these reach their goals, and duplicates are merged into the right one."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.evaluation.change_policy import ChangePolicy
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from tests.evaluation.evidence_builder import EvidenceBuilder, a_ticket

DESK = "ticketdesk"
KEPT = TicketGoal(key="OPS-1", priority="high", assignee_ids=("E-1", "E-2"))
MERGED = TicketGoal(key="OPS-2", original="OPS-1")
GOALS = EntityGoals("tickets_triaged", [KEPT, MERGED])


@pytest.fixture
def builder() -> EvidenceBuilder:
    """Provide the initial tickets, including one that does not belong to the task."""
    rows = {key: a_ticket(key, reporter_id="E-9") for key in ("OPS-1", "OPS-2", "OPS-3")}
    return EvidenceBuilder(ticketdesk={"tickets": rows, "links": {}, "removed_links": {}})


def _do(builder: EvidenceBuilder, **other: Any) -> None:
    """Do all the work of the task; `other` overrides parts of the duplicate's end."""
    builder.put(DESK, "tickets", "OPS-1", status="open", priority="high", assignee_id="E-2")
    builder.put(DESK, "tickets", "OPS-2", status="open")
    builder.put(DESK, "links", "link-9", kind="duplicates", from_key="OPS-2", to_key="OPS-1")
    end = {"status": "cancelled", "reason_code": "duplicate", "reason_ref": "OPS-1"}
    builder.put(DESK, "tickets", "OPS-2", **(end | other))


def test_completed_work_meets_every_goal_without_other_changes(builder: EvidenceBuilder) -> None:
    _do(builder)
    assert not GOALS.unmet(builder.evidence, step=99)
    assert GOALS.check().find_mismatch(builder.evidence) is None
    assert ChangePolicy(GOALS.allowances()).violations(builder.evidence) == []
    assert list(GOALS.damage(builder.evidence)) == []


def test_the_goals_are_not_met_before_the_last_required_step(builder: EvidenceBuilder) -> None:
    _do(builder)
    assert GOALS.unmet(builder.evidence, step=0)
    assert GOALS.unmet(builder.evidence, step=3)
    assert not GOALS.unmet(builder.evidence, step=4)


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "open", "reason_code": None, "reason_ref": None},
        {"reason_code": "withdrawn"},
        {"reason_ref": "OPS-3"},
        {"priority": "low"},
        {"assignee_id": "E-1"},
    ],
)
def test_a_duplicate_must_be_ended_for_its_reason_and_not_be_changed_otherwise(
    builder: EvidenceBuilder, columns: dict[str, Any]
) -> None:
    _do(builder, **columns)
    assert GOALS.unmet(builder.evidence, step=99)


@pytest.mark.parametrize("columns", [{"status": None}, {"priority": "critical"}, {"assignee_id": "E-3"}])
def test_a_remaining_ticket_must_have_the_required_columns(builder: EvidenceBuilder, columns: dict[str, Any]) -> None:
    _do(builder)
    builder.put(DESK, "tickets", "OPS-1", **columns)
    assert GOALS.unmet(builder.evidence, step=99)


def test_a_link_in_the_wrong_direction_merges_nothing_and_is_a_violation(builder: EvidenceBuilder) -> None:
    builder.put(DESK, "links", "link-8", kind="duplicates", from_key="OPS-1", to_key="OPS-2")
    assert not MERGED.is_merged(builder.evidence, None)
    assert len(ChangePolicy(GOALS.allowances()).violations(builder.evidence)) == 1


def test_a_removed_link_is_not_a_violation(builder: EvidenceBuilder) -> None:
    builder.put(DESK, "links", "link-8", kind="relates_to", from_key="OPS-1", to_key="OPS-3")
    builder.drop(DESK, "links", "link-8")
    builder.put(DESK, "removed_links", "link-8", from_key="OPS-1", to_key="OPS-3")
    assert ChangePolicy(GOALS.allowances()).violations(builder.evidence) == []


def test_a_ticket_that_was_moved_and_moved_back_is_not_a_violation(builder: EvidenceBuilder) -> None:
    for number, status in enumerate(("open", None)):
        builder.put(DESK, "tickets", "OPS-3", status=status, version=number + 2)
        builder.put(DESK, "transitions", f"transition-{number}", ticket_key="OPS-3", to_status=status)
        expected = [] if status is None else ["ticketdesk.tickets[OPS-3]"]
        assert [one.row_path for one in ChangePolicy([]).violations(builder.evidence)] == expected


def test_a_transition_of_a_ticket_that_was_not_moved_is_a_violation(builder: EvidenceBuilder) -> None:
    builder.put(DESK, "transitions", "transition-1", ticket_key="OPS-3", to_status="open")
    assert [one.table for one in ChangePolicy([]).violations(builder.evidence)] == ["transitions"]


def test_a_change_of_an_unrelated_ticket_is_a_violation(builder: EvidenceBuilder) -> None:
    builder.put(DESK, "tickets", "OPS-3", status="open")
    assert len(ChangePolicy(GOALS.allowances()).violations(builder.evidence)) == 1


def test_cancelling_the_remaining_ticket_is_damage(builder: EvidenceBuilder) -> None:
    builder.put(DESK, "tickets", "OPS-1", status="cancelled", reason_code="duplicate", reason_ref="OPS-2")
    assert list(GOALS.damage(builder.evidence)) == ["ticketdesk.tickets[OPS-1]"]
