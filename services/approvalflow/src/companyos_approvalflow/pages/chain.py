"""The chain of a request: its submission, what people did with it, and where it stands, as steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from companyos_approvalflow.decisions.model import DecisionKind
from companyos_approvalflow.requests.model import WAITING, RequestStatus
from companyos_approvalflow.requests.schemas import Approval, Decision

_DECIDED = {RequestStatus.APPROVED, RequestStatus.REJECTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step; who, when and why are left open where nothing tells them."""

    kind: str
    """What happened, or what is waited for."""

    by: str | None = None
    at: datetime | None = None
    until: datetime | None = None
    """When the wait ends by itself."""

    reason: str = ""
    reason_code: str | None = None
    reason_ref: str | None = None


def chain_of(request: Approval) -> list[Step]:
    """Return the steps, the one where the request stands last."""
    if request.status is RequestStatus.DRAFT:
        return [Step(kind="draft", by=request.requester_id)]
    steps = [Step(kind="submitted", by=request.requester_id, at=request.submitted_at)]
    for number, decision in enumerate(request.decisions):
        steps.append(_decided(decision))
        if decision.kind is DecisionKind.INFO_REQUESTED and _was_answered(request, number):
            steps.append(Step(kind="information_given"))
    return steps + _standing(request)


def approvals_given(request: Approval) -> int:
    """Return how many people have approved."""
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
    """Return whether the question was answered: somebody decided after it, or an approver has the next word again."""
    return number + 1 < len(request.decisions) or request.status in WAITING


def _standing(request: Approval) -> list[Step]:
    """Return the step where the request stands, none where the last decision is it."""
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
