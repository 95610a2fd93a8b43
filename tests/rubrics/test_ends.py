"""Ends of several entities: requests cancelled or escalated, delegations revoked, records and tickets at their end."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from companyos_gateway.rubrics.boundaries import Boundaries
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.ends import (
    DelegationRevoked,
    Ends,
    RecordEnded,
    RequestCancelled,
    RequestEscalated,
    RequestWithdrawn,
    TicketEnded,
)
from companyos_gateway.rubrics.records import RecordGoal
from companyos_gateway.rubrics.requests import Standing
from companyos_gateway.rubrics.ticket_goals import TicketGoal
from companyos_shared.wire.company import Company, Person, Role, RoleHeld
from tests.rubrics.builders import Tale

DESK, HUB, FLOW = "ticketdesk", "datahub", "approvalflow"
START = date(2020, 1, 1)
REFERENCES = ("POL-7", "POL-7-v2")


def _person(person_id: str, *roles: Role) -> Person:
    held = tuple(RoleHeld(role=role, first_day=START) for role in roles)
    return Person(id=person_id, name=person_id, email="", title="", team_id="finance", employed_from=START, roles=held)


PEOPLE = (_person("E-1"), _person("E-2", Role.CFO), _person("E-3"), _person("E-9"))
COMPANY = Company(name="Acme", domain="acme.example", agent_id="E-9", people=PEOPLE)
STANDING = Standing(COMPANY, "purchase_order", Role.CFO, 5000)
CANCELLED = RequestCancelled("APR-1", Refusal("policy_violation", REFERENCES))
ESCALATED = RequestEscalated("APR-2", STANDING, REFERENCES)
REVOKED = DelegationRevoked("DEL-1")
ENDED = RecordEnded(RecordGoal(record_id="ACG-1", state="revoked"))
HANDED_OVER = TicketEnded(TicketGoal(key="OPS-1", status="open", assignee_ids=("E-1", "E-3")))
ALL = Ends("all_ended", [CANCELLED, ESCALATED, REVOKED, ENDED, HANDED_OVER])


def _request(key: str) -> dict[str, Any]:
    return {
        "id": key,
        "type_key": "purchase_order",
        "subject": "PO-1",
        "ticket_ref": None,
        "requester_id": "E-1",
        "approver_id": "E-3",
        "status": "pending",
        "fields": {},
        "submitted_at": "2026-03-01T10:00:00Z",
        "reason_code": None,
        "reason_ref": None,
    }


DELEGATION: dict[str, Any] = {
    "from_id": "E-2",
    "to_id": "E-3",
    "type_keys": [],
    "limit_cents": None,
    "starts_at": "2026-02-01T10:00:00Z",
    "ends_at": "2026-05-01T10:00:00Z",
    "revoked_at": None,
}
TICKET = {
    "key": "OPS-1",
    "status": "open",
    "priority": "low",
    "assignee_id": "E-9",
    **dict.fromkeys(("verified_at", "verified_by", "approval_ref", "reason_code", "reason_ref")),
}


@pytest.fixture
def tale() -> Tale:
    """Everything as it was found, with one of each that is none of the task's."""
    return Tale(
        ticketdesk={
            "tickets": {"OPS-1": TICKET, "OPS-2": {**TICKET, "key": "OPS-2"}},
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


def _cancel(tale: Tale, key: str = "APR-1", **other: Any) -> None:
    reason = {"reason_code": "policy_violation", "reason_ref": "POL-7"}
    tale.put(FLOW, "requests", key, **({"status": "cancelled", **reason} | other))


def _escalate(tale: Tale, key: str = "APR-2", *, to: str = "E-2", reference: str | None = "POL-7") -> None:
    """Put a request to somebody; both rows are of one step."""
    request = {**(tale.evidence.row(FLOW, "requests", key) or {}), "status": "escalated", "approver_id": to}
    decision = {"request_id": key, "kind": "escalated", "by": "E-9", "reason_ref": reference}
    tale.put_together(FLOW, {("requests", key): request, ("decisions", f"{key}-D{to}"): decision})


def _do(tale: Tale) -> None:
    _cancel(tale)
    _escalate(tale)
    tale.put(FLOW, "delegations", "DEL-1", revoked_at="2026-03-02T10:00:00Z")
    tale.put(HUB, "records", "ACG-1", state="revoked")
    tale.put(DESK, "tickets", "OPS-1", assignee_id="E-1")


def test_all_of_these_and_nothing_else(tale: Tale) -> None:
    assert not ALL.are_met(tale.evidence)
    assert not ALL.check().holds(tale.evidence)[0]
    _do(tale)
    assert ALL.check().holds(tale.evidence) == (True, "so for every one")
    assert Boundaries(ALL.allowances()).trespasses(tale.evidence) == []
    assert list(ALL.damage(tale.evidence)) == []


def test_nothing_is_met_before_the_step_at_which_it_was_done(tale: Tale) -> None:
    _do(tale)
    assert not ALL.are_met(tale.evidence, step=5)
    assert ALL.are_met(tale.evidence, step=6)


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
def test_one_too_many_is_a_trespass(tale: Tale, service: str, table: str, key: str, columns: dict[str, Any]) -> None:
    _do(tale)
    tale.put(service, table, key, **columns)
    assert len(Boundaries(ALL.allowances()).trespasses(tale.evidence)) == 1


@pytest.mark.parametrize(
    "other", [{"status": "pending"}, {"reason_code": "duplicate"}, {"reason_ref": "POL-8"}, {"reason_ref": None}]
)
def test_a_request_is_cancelled_for_its_reason(tale: Tale, other: dict[str, Any]) -> None:
    _cancel(tale, **other)
    assert not CANCELLED.is_met(tale.evidence)
    assert CANCELLED.is_spoilt(tale.evidence) is (other.get("status") != "pending")


def test_either_name_of_the_fact_will_do(tale: Tale) -> None:
    _cancel(tale, reason_ref="POL-7-v2")
    assert CANCELLED.is_met(tale.evidence)


@pytest.mark.parametrize(("to", "reference"), [("E-1", "POL-7"), ("E-2", None), ("E-2", "POL-8")])
def test_a_request_is_escalated_to_who_may_decide_with_the_fact(tale: Tale, to: str, reference: str | None) -> None:
    _escalate(tale, to=to, reference=reference)
    assert not ESCALATED.is_met(tale.evidence)
    assert not ESCALATED.is_spoilt(tale.evidence)


def test_a_decision_after_the_escalation_changes_nothing(tale: Tale) -> None:
    _escalate(tale)
    tale.happen(FLOW, "requests", "APR-2", cause="e:1:1", status="rejected", decided_at="2026-03-03T10:00:00Z")
    assert ESCALATED.is_met(tale.evidence)
    assert Boundaries(ESCALATED.allowances()).trespasses(tale.evidence) == []


def test_a_wrong_escalation_is_mended_by_a_right_one(tale: Tale) -> None:
    _escalate(tale, to="E-1")
    assert not ESCALATED.is_met(tale.evidence)
    _escalate(tale, to="E-2")
    assert ESCALATED.is_met(tale.evidence)


def test_cancelling_what_should_be_escalated_is_damage(tale: Tale) -> None:
    _escalate(tale)
    _cancel(tale, "APR-2")
    assert not ESCALATED.is_met(tale.evidence)
    assert list(ALL.damage(tale.evidence)) == ["approvalflow.requests[APR-2]"]


def test_a_delegation_that_runs_out_is_not_revoked(tale: Tale) -> None:
    tale.put(FLOW, "delegations", "DEL-1", ends_at="2026-03-02T10:00:00Z")
    assert not REVOKED.is_met(tale.evidence)


def test_each_end_pays_the_points_once(tale: Tale) -> None:
    milestones = list(ALL.milestones(1.0))
    assert [milestone.points for milestone in milestones] == [1.0] * 5
    assert not any(milestone.stands(tale.evidence) for milestone in milestones)
    _do(tale)
    assert all(milestone.stands(tale.evidence) for milestone in milestones)


def test_a_request_that_was_taken_back_is_withdrawn_and_one_that_was_cancelled_is_not() -> None:
    withdrawn = RequestWithdrawn("APR-1")
    tale = Tale(approvalflow={"requests": {"APR-1": _request("APR-1")}})
    assert not withdrawn.is_met(tale.evidence)
    tale.put(FLOW, "requests", "APR-1", status="withdrawn")
    assert withdrawn.is_met(tale.evidence)
    assert not withdrawn.is_met(tale.evidence, step=0)
    assert Boundaries(withdrawn.allowances()).trespasses(tale.evidence) == []
    assert not withdrawn.is_spoilt(tale.evidence)
    tale.put(FLOW, "requests", "APR-1", status="cancelled", reason_code="policy_violation", reason_ref="POL-7")
    assert withdrawn.is_spoilt(tale.evidence)


def test_fields_that_wait_for_an_approval_are_premature_before_it() -> None:
    goal = RecordGoal(record_id="BUD-1", fields={"budget_cents": 7}, do_fields_wait=True)
    tale = Tale(
        approvalflow={"requests": {"APR-1": _request("APR-1")}},
        datahub={
            "records": {"BUD-1": {"id": "BUD-1", "state": "active", "ends_on": None, "fields": {"budget_cents": 9}}}
        },
    )
    tale.put(HUB, "records", "BUD-1", fields={"budget_cents": 7})
    assert goal.is_met(tale.evidence, "APR-1")
    assert goal.is_premature(tale.evidence, "APR-1")
    assert not RecordGoal(record_id="BUD-1", fields={"budget_cents": 7}).is_premature(tale.evidence, "APR-1")
