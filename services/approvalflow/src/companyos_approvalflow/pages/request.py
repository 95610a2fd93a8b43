"""Page of a request: timeline, people who may decide next, fields and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import pairwise

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types.service import require_type
from companyos_approvalflow.decisions.model import Case, DecisionKind, read_case
from companyos_approvalflow.decisions.rules import has_conflict
from companyos_approvalflow.delegations.model import Delegation
from companyos_approvalflow.delegations.rules import delegation_refusal
from companyos_approvalflow.delegations.service import list_delegations
from companyos_approvalflow.pages.app import PAGES, colleagues
from companyos_approvalflow.pages.fields import fields_of
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import MOVES, OPEN, WAITING, Request, RequestStatus, read_request
from companyos_approvalflow.requests.rules import may_cancel
from companyos_approvalflow.requests.schemas import Approval, Decision, EntryKind, ThreadEntry
from companyos_shared.framework import ALL_ROWS, Call, PageView
from companyos_shared.wire.company import ReasonCode, Role


def locate(call: Call, request_id: str) -> tuple[str, str] | None:
    """Return the parts of a request's page path, or None if there is no such request."""
    return None if read_request(call.db, request_id) is None else ("requests", request_id)


PAGES.opens(locate)


@PAGES.page("/requests/{request_id}")
def show_request(view: PageView, request_id: str) -> HTMLResponse:
    """Show a request."""
    call = view.call
    request = service.show_request(call, request_id)
    view.shows(request, "fields")
    approval_type = require_type(call, request.type_key)
    moves = MOVES[request.status]
    stored = service.require_request(call, request_id)
    return view.page(
        "request.html",
        request=request,
        type=approval_type,
        chain=chain_of(request),
        next_decision=next_decision_of(call, stored),
        given=approvals_given(request),
        fields=fields_of(approval_type, request.fields),
        people=colleagues(call),
        reasons=list(ReasonCode),
        may_inform=request.status is RequestStatus.INFO_REQUESTED,
        may_escalate=RequestStatus.ESCALATED in moves,
        may_withdraw=RequestStatus.WITHDRAWN in moves and request.requester_id == call.person,
        may_cancel=RequestStatus.CANCELLED in moves and may_cancel(call.company, approval_type, stored, call.person),
        is_final=not moves,
    )


_DECIDED = {RequestStatus.APPROVED, RequestStatus.REJECTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the timeline; unknown values are None or empty."""

    kind: str
    """Kind of the past or pending event."""

    by: str | None = None
    at: datetime | None = None
    until: datetime | None = None
    """Expiry of the request, for a pending event."""

    reason: str = ""
    """Comment of the decision, or text of the answer."""

    reason_code: str | None = None
    reason_ref: str | None = None


def chain_of(request: Approval) -> list[Step]:
    """Return the steps of a request; the last is the current step."""
    if request.status is RequestStatus.DRAFT:
        return [Step(kind="draft", by=request.requester_id)]
    steps = [Step(kind="submitted", by=request.requester_id, at=request.submitted_at)]
    answers = _answers(request.thread)
    for number, decision in enumerate(request.decisions):
        steps.append(_decided(decision))
        if decision.kind is DecisionKind.INFO_REQUESTED and _was_answered(request, number):
            steps.append(_given(answers.get(decision.at)))
    return steps + _current(request)


def _answers(thread: Sequence[ThreadEntry]) -> dict[datetime, ThreadEntry]:
    """Return the answers by the time of their question."""
    return {question.at: given for question, given in pairwise(thread) if given.kind is EntryKind.ANSWER}


def _given(answer: ThreadEntry | None) -> Step:
    if answer is None:
        return Step(kind="information_given")
    return Step(kind="information_given", by=answer.author_id, at=answer.at, reason=answer.text)


def approvals_given(request: Approval) -> int:
    """Return the number of approvals."""
    return sum(decision.kind is DecisionKind.APPROVED for decision in request.decisions)


def _decided(decision: Decision) -> Step:
    return Step(
        kind=decision.kind.value,
        by=decision.by,
        at=decision.at,
        reason=decision.reason,
        reason_code=decision.reason_code,
        reason_ref=decision.reason_ref,
    )


def _was_answered(request: Approval, number: int) -> bool:
    """Return whether information was provided: a later decision exists, or the request waits for an approver again."""
    return number + 1 < len(request.decisions) or request.status in WAITING


def _current(request: Approval) -> list[Step]:
    """Return the current step, or none if the last decision is the current step."""
    status, last = request.status, request.decisions[-1].kind.value if request.decisions else ""
    if status in WAITING:
        return [Step(kind="waits_for_a_decision", by=request.approver_id, until=request.expires_at)]
    if status is RequestStatus.INFO_REQUESTED:
        return [Step(kind="waits_for_information", until=request.expires_at)]
    if status in _DECIDED and last == status.value:
        return []
    ended_at = request.expires_at if status is RequestStatus.EXPIRED else request.decided_at
    withdrawn_by = request.requester_id if status is RequestStatus.WITHDRAWN else None
    return [
        Step(
            kind=status.value,
            by=withdrawn_by,
            at=ended_at,
            reason_code=request.reason_code,
            reason_ref=request.reason_ref,
        )
    ]


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
        if one.from_id in givers and _is_covered(call, case, one)
    ]
    own = [_approver(call, case, request, person_id, None) for person_id in holders]
    return NextDecision(case.role, (*own, *(_approver(call, case, request, one.to_id, one) for one in delegations)))


def _is_covered(call: Call, case: Case, delegation: Delegation) -> bool:
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
