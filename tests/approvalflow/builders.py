"""Builders with defaults: a company of seven people, an approval type with every kind of field, and a seed document."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from companyos_approvalflow.approval_types.model import ApprovalType, FieldSpec, FieldType, Threshold
from companyos_approvalflow.decisions.model import Case
from companyos_approvalflow.delegations.model import Delegation
from companyos_approvalflow.requests.model import Request, RequestStatus
from companyos_approvalflow.seed import Seed
from companyos_shared.wire.company import Company, Role

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""A Monday, at the start of office hours."""

AGENT, CFO, CONTROLLER, CEO, LEAD, GONE, CLERK = "E-1", "E-2", "E-3", "E-4", "E-5", "E-6", "E-7"
_ROLES = {CFO: "cfo", CONTROLLER: "finance_controller", CEO: "ceo", LEAD: "team_lead"}

FIELDS: dict[str, str | int | float | bool] = {
    "vendor_id": "V-1",
    "score": 88.5,
    "score_as_of": "2026-03-02T08:00:00Z",
    "cost_cents": 900_000,
}
WHY = "The old supplier stops in May."


def a_company(*, absences: list[tuple[str, str, str]] | None = None, **changed: Any) -> Company:
    """Return the company; an absence is (person, first day, last day)."""
    people = [
        {
            "id": person_id,
            "name": f"Person {person_id}",
            "email": f"{person_id.lower()}@alder.example",
            "title": "Employee",
            "team_id": "T-1",
            "employed_from": "2020-01-01",
            "employed_to": "2026-02-27" if person_id == GONE else None,
            "roles": [{"role": _ROLES[person_id], "first_day": "2020-01-01"}] if person_id in _ROLES else [],
        }
        for person_id in (AGENT, CFO, CONTROLLER, CEO, LEAD, GONE, CLERK)
    ]
    document: dict[str, Any] = {
        "name": "Alder",
        "domain": "alder.example",
        "agent_id": AGENT,
        "teams": [{"id": "T-1", "name": "All", "department": "All", "lead_id": LEAD}],
        "people": people,
        "absences": [
            {"id": f"ABS-{n}", "person_id": person, "first_day": first, "last_day": last, "kind": "vacation"}
            for n, (person, first, last) in enumerate(absences or [])
        ],
        **changed,
    }
    return Company.model_validate(document)


def a_field(name: str, type: FieldType, **changed: Any) -> FieldSpec:
    """Return a required field of a type."""
    plain = FieldSpec(
        name=name, type=type, required=True, description="", max_age_minutes=None, names_beneficiary=False
    )
    return plain.model_copy(update=changed)


def a_type(**changed: Any) -> ApprovalType:
    """Return a type: controllers up to 5,000.00, the CFO above, and the CEO as second approver above 100,000.00."""
    plain = ApprovalType(
        key="onboarding",
        title="Onboarding",
        description="",
        policy_ref="POL-1-v1",
        fields=[
            a_field("vendor_id", FieldType.TEXT),
            a_field("score", FieldType.NUMBER),
            a_field("score_as_of", FieldType.DATETIME, max_age_minutes=1440),
            a_field("cost_cents", FieldType.INTEGER),
            a_field("is_urgent", FieldType.BOOLEAN, required=False),
            a_field("starts_on", FieldType.DATE, required=False),
            a_field("for_person", FieldType.TEXT, required=False, names_beneficiary=True),
        ],
        amount_field="cost_cents",
        thresholds=[
            Threshold(up_to_cents=500_000, role=Role.FINANCE_CONTROLLER),
            Threshold(up_to_cents=None, role=Role.CFO),
        ],
        second_role=Role.CEO,
        second_above_cents=10_000_000,
        expires_after_minutes=7200,
        administered_by=[],
    )
    return plain.model_copy(update=changed)


def a_delegation(**changed: Any) -> Delegation:
    """Return the CFO's delegation to the controller, in force for a week."""
    plain = Delegation(
        id="DEL-1",
        from_id=CFO,
        to_id=CONTROLLER,
        type_keys=[],
        limit_cents=None,
        starts_at=NOW - timedelta(days=1),
        ends_at=NOW + timedelta(days=6),
        revoked_at=None,
        created_by=CFO,
    )
    return plain.model_copy(update=changed)


def a_case(**changed: Any) -> Case:
    """Return the case of the agent's request for 9,000.00."""
    plain = Case(company=a_company(), approval_type=a_type(), delegations=[], requester_id=AGENT, amount_cents=900_000)
    return replace(plain, **changed)


def a_request(**changed: Any) -> Request:
    """Return the agent's pending request to the CFO."""
    plain = Request(
        id="APR-1",
        type_key="onboarding",
        subject="V-1",
        ticket_ref=None,
        requester_id=AGENT,
        approver_id=CFO,
        status=RequestStatus.PENDING,
        fields=dict(FIELDS),
        justification=WHY,
        submitted_at=NOW,
        decided_at=None,
        expires_at=NOW + timedelta(days=5),
        reason_code=None,
        reason_ref=None,
        version=1,
    )
    return replace(plain, **changed)


def type_row(**changed: Any) -> dict[str, Any]:
    """Return the approval type as a row of a seed document."""
    known = a_type()
    return {
        "key": known.key,
        "title": known.title,
        "policy_ref": known.policy_ref,
        "fields": [
            {
                "name": spec.name,
                "type": spec.type.value,
                "required": spec.required,
                "max_age_minutes": spec.max_age_minutes,
                "names_beneficiary": spec.names_beneficiary,
            }
            for spec in known.fields
        ],
        "amount_field": "cost_cents",
        "thresholds": [{"up_to_cents": 500_000, "role": "finance_controller"}, {"role": "cfo"}],
        "second_role": "ceo",
        "second_above_cents": 10_000_000,
        "expires_after_minutes": 7200,
        **changed,
    }


def request_row(**changed: Any) -> dict[str, Any]:
    """Return a colleague's pending request as a row of a seed document."""
    return {
        "id": "APR-40",
        "type_key": "onboarding",
        "subject": "V-40",
        "requester_id": CLERK,
        "approver_id": CFO,
        "status": "pending",
        "fields": dict(FIELDS),
        "justification": WHY,
        "submitted_at": "2026-03-02T08:30:00Z",
        "expires_at": "2026-03-07T08:30:00Z",
        **changed,
    }


def delegation_row(**changed: Any) -> dict[str, Any]:
    """Return the CFO's delegation to the controller as a row of a seed document."""
    return {
        "id": "DEL-1",
        "from_id": CFO,
        "to_id": CONTROLLER,
        "starts_at": "2026-03-01T00:00:00Z",
        "ends_at": "2026-03-13T18:00:00Z",
        "created_by": CFO,
        **changed,
    }


def reaction_row(**changed: Any) -> dict[str, Any]:
    """Return a planned reaction to the first decision on V-1."""
    return {"id": "REA-1", "type_key": "onboarding", "subject": "V-1", "n": 1, "kind": "reject", **changed}


def a_seed(company: Company | None = None, **lists: Any) -> Seed:
    """Return a seed document in which everybody decides within an hour."""
    document: dict[str, Any] = {
        "company": company or a_company(),
        "draw_seed": "s",
        "started_at": NOW,
        "approval_types": [type_row()],
        "traits": [{"id": person, "min_minutes": 20, "max_minutes": 60} for person in (CFO, CONTROLLER, CEO, LEAD)],
        **lists,
    }
    return Seed.model_validate(document)


def submission(**changed: Any) -> dict[str, Any]:
    """Return the request body of a submission to the CFO."""
    return {
        "type_key": "onboarding",
        "subject": "V-1",
        "approver_id": CFO,
        "fields": dict(FIELDS),
        "justification": WHY,
        **changed,
    }
