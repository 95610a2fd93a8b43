"""Timeline of a request: submission, decisions, answers and current status, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from companyos_approvalflow.decisions.model import DecisionKind
from companyos_approvalflow.requests.model import WAITING, RequestStatus
from companyos_approvalflow.requests.schemas import Approval, Decision, EntryKind, ThreadEntry

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
