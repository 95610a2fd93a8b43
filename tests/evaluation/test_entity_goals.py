"""Goals about several entities: ended requests, revoked delegations, final states of records and tickets."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.evaluation.approval_requests import ApprovalAuthority
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import ChangePolicy
from companyos_gateway.evaluation.entity_goals import (
    DelegationRevoked,
    EntityGoals,
    RequestCancelled,
    RequestEscalated,
    RequestWithdrawn,
)
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import RecordStopped
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_shared.wire.company import Company, Role
from tests.evaluation.evidence_builder import EvidenceBuilder, a_delegation, a_person, a_request, a_ticket

DESK, HUB, FLOW = "ticketdesk", "datahub", "approvalflow"
REFERENCES = ("POL-7", "POL-7-v2")


PEOPLE = (a_person("E-1"), a_person("E-2", Role.CFO), a_person("E-3"), a_person("E-9"))
COMPANY = Company(name="Acme", domain="acme.example", agent_id="E-9", people=PEOPLE)
STANDING = ApprovalAuthority(COMPANY, "purchase_order", Role.CFO, 5000)
CANCELLED = RequestCancelled("APR-1", Refusal("policy_violation", REFERENCES))
ESCALATED = RequestEscalated("APR-2", STANDING, REFERENCES)
REVOKED = DelegationRevoked("DEL-1")
ENDED = RecordGoal(record_id="ACG-1", state="revoked")
HANDED_OVER = TicketGoal(key="OPS-1", status="open", assignee_ids=("E-1", "E-3"))
ALL = EntityGoals("all_ended", [CANCELLED, ESCALATED, REVOKED, ENDED, HANDED_OVER])


def _request(key: str) -> dict[str, Any]:
    people = {"requester_id": "E-1", "approver_id": "E-3"}
    return a_request(key, type_key="purchase_order", subject="PO-1", submitted_at="2026-03-01T10:00:00Z", **people)


DELEGATION = a_delegation(from_id="E-2", to_id="E-3")


@pytest.fixture
def builder() -> EvidenceBuilder:
    """Provide the initial state of all entities, including one of each kind that does not belong to the task."""
    return EvidenceBuilder(
        ticketdesk={
            "tickets": {
                key: a_ticket(key, status="open", priority="low", assignee_id="E-9") for key in ("OPS-1", "OPS-2")
            },
            "links": {},
            "removed_links": {},
        },
        datahub={"records": {key: {"state": "active", "ends_on": None, "fields": {}} for key in ("ACG-1", "ACG-2")}},
        approvalflow={
            "requests": {key: _request(key) for key in ("APR-1", "APR-2", "APR-3")},
            "decisions": {},
            "notes": {},
            "delegations": {"DEL-1": DELEGATION, "DEL-2": DELEGATION},
        },
    )


def _cancel(builder: EvidenceBuilder, key: str = "APR-1", **other: Any) -> None:
    reason = {"reason_code": "policy_violation", "reason_ref": "POL-7"}
    builder.put(FLOW, "requests", key, **({"status": "cancelled", **reason} | other))


def _escalate(builder: EvidenceBuilder, *, to: str = "E-2", reference: str | None = "POL-7") -> None:
    """Escalate a request to a person; both rows belong to one step."""
    request = {**(builder.evidence.row(FLOW, "requests", "APR-2") or {}), "status": "escalated", "approver_id": to}
    decision = {"request_id": "APR-2", "kind": "escalated", "by": "E-9", "reason_ref": reference}
    builder.put_together(FLOW, {("requests", "APR-2"): request, ("decisions", f"APR-2-D{to}"): decision})


def _do(builder: EvidenceBuilder) -> None:
    _cancel(builder)
    _escalate(builder)
    builder.put(FLOW, "delegations", "DEL-1", revoked_at="2026-03-02T10:00:00Z")
    builder.put(HUB, "records", "ACG-1", state="revoked")
    builder.put(DESK, "tickets", "OPS-1", assignee_id="E-1")


def test_exactly_the_required_changes_meet_the_goal(builder: EvidenceBuilder) -> None:
    assert not ALL.are_met(builder.evidence)
    assert ALL.check().find_mismatch(builder.evidence) is not None
    _do(builder)
    assert ALL.check().find_mismatch(builder.evidence) is None
    assert ChangePolicy(ALL.allowances()).violations(builder.evidence) == []
    assert list(ALL.damage(builder.evidence)) == []


def test_the_goal_is_not_met_before_the_last_required_step(builder: EvidenceBuilder) -> None:
    _do(builder)
    assert not ALL.are_met(builder.evidence, step=5)
    assert ALL.are_met(builder.evidence, step=6)


@pytest.mark.parametrize(
    ("service", "table", "key", "columns"),
    [
        (FLOW, "requests", "APR-3", {"status": "cancelled"}),
        (FLOW, "requests", "APR-1", {"fields": {"amount_cents": 1}}),
        (FLOW, "delegations", "DEL-2", {"revoked_at": "2026-03-02T10:00:00Z"}),
        (HUB, "records", "ACG-2", {"state": "revoked"}),
        (DESK, "tickets", "OPS-2", {"assignee_id": "E-1"}),
    ],
)
def test_an_additional_change_is_a_violation(
    builder: EvidenceBuilder, service: str, table: str, key: str, columns: dict[str, Any]
) -> None:
    _do(builder)
    builder.put(service, table, key, **columns)
    assert len(ChangePolicy(ALL.allowances()).violations(builder.evidence)) == 1


@pytest.mark.parametrize(
    "other", [{"status": "pending"}, {"reason_code": "duplicate"}, {"reason_ref": "POL-8"}, {"reason_ref": None}]
)
def test_a_request_must_be_cancelled_for_the_required_reason(builder: EvidenceBuilder, other: dict[str, Any]) -> None:
    _cancel(builder, **other)
    assert not CANCELLED.is_met(builder.evidence)
    assert CANCELLED.is_damaged(builder.evidence) is (other.get("status") != "pending")


def test_either_name_of_the_fact_is_accepted(builder: EvidenceBuilder) -> None:
    _cancel(builder, reason_ref="POL-7-v2")
    assert CANCELLED.is_met(builder.evidence)


@pytest.mark.parametrize(("to", "reference"), [("E-1", "POL-7"), ("E-2", None), ("E-2", "POL-8")])
def test_a_request_must_be_escalated_to_an_authorized_approver_with_the_fact(
    builder: EvidenceBuilder, to: str, reference: str | None
) -> None:
    _escalate(builder, to=to, reference=reference)
    assert not ESCALATED.is_met(builder.evidence)
    assert not ESCALATED.is_damaged(builder.evidence)


def test_a_decision_after_the_escalation_has_no_effect(builder: EvidenceBuilder) -> None:
    _escalate(builder)
    builder.put_by_clock(FLOW, "requests", "APR-2", cause="e:1:1", status="rejected", decided_at="2026-03-03T10:00:00Z")
    assert ESCALATED.is_met(builder.evidence)
    assert ChangePolicy(ESCALATED.allowances()).violations(builder.evidence) == []


def test_a_wrong_escalation_is_corrected_by_a_right_one(builder: EvidenceBuilder) -> None:
    _escalate(builder, to="E-1")
    assert not ESCALATED.is_met(builder.evidence)
    _escalate(builder, to="E-2")
    assert ESCALATED.is_met(builder.evidence)


def test_cancelling_a_request_that_must_be_escalated_is_damage(builder: EvidenceBuilder) -> None:
    _escalate(builder)
    _cancel(builder, "APR-2")
    assert not ESCALATED.is_met(builder.evidence)
    assert list(ALL.damage(builder.evidence)) == ["approvalflow.requests[APR-2]"]


def test_an_expired_delegation_is_not_revoked(builder: EvidenceBuilder) -> None:
    builder.put(FLOW, "delegations", "DEL-1", ends_at="2026-03-02T10:00:00Z")
    assert not REVOKED.is_met(builder.evidence)


def test_each_entity_is_a_milestone(builder: EvidenceBuilder) -> None:
    parts = dict(ALL.parts())
    assert len(parts) == 5
    assert not any(is_reached(builder.evidence) for is_reached in parts.values())
    _do(builder)
    assert all(is_reached(builder.evidence) for is_reached in parts.values())


def test_a_withdrawn_request_counts_as_withdrawn_and_a_cancelled_one_does_not() -> None:
    withdrawn = RequestWithdrawn("APR-1")
    builder = EvidenceBuilder(approvalflow={"requests": {"APR-1": _request("APR-1")}})
    assert not withdrawn.is_met(builder.evidence)
    builder.put(FLOW, "requests", "APR-1", status="withdrawn")
    assert withdrawn.is_met(builder.evidence)
    assert not withdrawn.is_met(builder.evidence, step=0)
    assert ChangePolicy(withdrawn.allowances()).violations(builder.evidence) == []
    assert not withdrawn.is_damaged(builder.evidence)
    builder.put(FLOW, "requests", "APR-1", status="cancelled", reason_code="policy_violation", reason_ref="POL-7")
    assert withdrawn.is_damaged(builder.evidence)


def test_fields_set_before_the_approval_are_premature_unless_they_may_be_set_early() -> None:
    goal = RecordGoal(record_id="BUD-1", fields={"budget_cents": 7})
    builder = EvidenceBuilder(
        approvalflow={"requests": {"APR-1": _request("APR-1")}},
        datahub={
            "records": {"BUD-1": {"id": "BUD-1", "state": "active", "ends_on": None, "fields": {"budget_cents": 9}}}
        },
    )
    builder.put(HUB, "records", "BUD-1", fields={"budget_cents": 7})
    assert goal.is_met(builder.evidence, "APR-1")
    assert goal.premature_step(builder.evidence, "APR-1") is not None
    early = RecordGoal(record_id="BUD-1", fields={"budget_cents": 7}, may_set_fields_early=True)
    assert early.premature_step(builder.evidence, "APR-1") is None


def test_the_last_change_of_a_stopped_record_is_the_decision() -> None:
    stopped = RecordStopped(RecordGoal(record_id="INV-1", state="on_hold", fields={"hold_reason": "quantity"}))
    builder = EvidenceBuilder(datahub={"records": {"INV-1": {"state": "received", "ends_on": None, "fields": {}}}})
    assert stopped.change(builder.evidence) is None
    for state, reason in (("on_hold", "price"), ("on_hold", "quantity")):
        builder.put(HUB, "records", "INV-1", state=state, fields={"hold_reason": reason})
    builder.put(HUB, "records", "INV-1", owner_id="E-2")
    decided = stopped.change(builder.evidence)
    assert decided is not None
    assert decided.after is not None
    assert (decided.after["fields"], decided.after.get("owner_id")) == ({"hold_reason": "quantity"}, None)
