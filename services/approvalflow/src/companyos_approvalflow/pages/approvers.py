"""People who may decide a request next, by role or by delegation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from companyos_approvalflow.approval_types.service import require_type
from companyos_approvalflow.decisions.model import Case, read_case
from companyos_approvalflow.decisions.rules import has_conflict
from companyos_approvalflow.delegations.rules import delegation_refusal
from companyos_approvalflow.delegations.schemas import Delegation
from companyos_approvalflow.delegations.service import list_delegations
from companyos_approvalflow.requests.model import OPEN, Request
from companyos_shared.framework import ALL_ROWS, Call
from companyos_shared.wire.company import Role

IN_OFFICE, AWAY, DEPARTED = "in_office", "away", "departed"
REQUESTER, HAS_APPROVED, CONCERNED = "requester", "has_approved", "concerned"
"""States of people who may not decide: CONCERNED is the subject or the beneficiary of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """A holder of the deciding role, or a person with a delegation from a holder that covers the request."""

    person_id: str
    state: str
    away_until: date | None
    """The last day of an absence."""

    delegation: Delegation | None


@dataclass(frozen=True, slots=True)
class NextDecision:
    """The role of the next decision, with its holders and their delegates."""

    role: Role
    approvers: tuple[Approver, ...]


def next_decision_of(call: Call, request: Request) -> NextDecision | None:
    """Return the next decision, or None for a request that is a draft or final."""
    if request.status not in OPEN:
        return None
    case = read_case(call.db, call.company, require_type(call, request.type_key), request)
    holders = [person.id for person in call.company.holders(case.role, call.now.date())]
    givers = set(holders) - case.approvers_before - {case.requester_id}
    delegations = [
        one
        for one in list_delegations(call, ALL_ROWS, from_id=None, to_id=None).items
        if one.from_id in givers and _is_covered(call, case, one.id)
    ]
    own = [_approver(call, case, request, person_id, None) for person_id in holders]
    return NextDecision(case.role, (*own, *(_approver(call, case, request, one.to_id, one) for one in delegations)))


def _is_covered(call: Call, case: Case, delegation_id: str) -> bool:
    delegation = next(one for one in case.delegations if one.id == delegation_id)
    key, amount = case.approval_type.key, case.amount_cents
    return delegation_refusal(delegation, key, amount_cents=amount, now=call.now) is None


def _approver(call: Call, case: Case, request: Request, person_id: str, delegation: Delegation | None) -> Approver:
    day = call.now.date()
    absence = call.company.absence(person_id, day)
    state = AWAY if absence is not None else IN_OFFICE
    if not call.company.is_active(person_id, day):
        state = DEPARTED
    elif person_id == case.requester_id:
        state = REQUESTER
    elif person_id in case.approvers_before:
        state = HAS_APPROVED
    elif has_conflict(case, replace(request, approver_id=person_id)):
        state = CONCERNED
    away_until = None if absence is None else absence.last_day
    return Approver(person_id=person_id, state=state, away_until=away_until, delegation=delegation)
