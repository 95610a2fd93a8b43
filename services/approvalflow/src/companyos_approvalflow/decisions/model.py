"""Decisions, and the planned response times and reactions of approvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from companyos_approvalflow import tables
from companyos_approvalflow.answers import AcceptedValue, contains_accepted
from companyos_approvalflow.approval_types.model import ApprovalType
from companyos_approvalflow.delegations.model import Delegation, read_delegations
from companyos_approvalflow.requests.model import Request
from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect, number_order
from companyos_shared.wire.company import Company, Role


class DecisionKind(Choice):
    """Kind of a decision."""

    APPROVED = "approved"
    REJECTED = "rejected"
    INFO_REQUESTED = "info_requested"
    ESCALATED = "escalated"


class ReactionKind(Choice):
    """Deviation of a planned decision from the regular one."""

    REJECT = "reject"
    REQUEST_INFO = "request_info"
    SLOW = "slow"


class RejectionReason(Choice):
    """Reason of a rejection by the rules."""

    CONFLICT_OF_INTEREST = "conflict_of_interest"
    MISSING_JUSTIFICATION = "missing_justification"
    EVIDENCE_TOO_OLD = "evidence_too_old"
    OVER_THE_LIMIT = "over_the_limit"
    NOT_ENTITLED = "not_entitled"
    NO_APPROVER = "no_approver"
    INFORMATION_NOT_PROVIDED = "information_not_provided"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of one person on a request."""

    id: str
    request_id: str
    kind: DecisionKind
    by: str
    at: datetime
    reason_code: str | None
    reason_ref: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Trait:
    """Response time of a person, in office minutes."""

    min_minutes: int
    max_minutes: int


USUAL_TRAIT = Trait(min_minutes=30, max_minutes=240)


@dataclass(frozen=True, slots=True)
class Reaction:
    """A planned decision on (type, subject). Objections by the rules take precedence."""

    kind: ReactionKind
    reason_code: str | None
    reason: str
    extra_minutes: int
    accepted: tuple[AcceptedValue, ...] = ()
    """An answer must contain one of these values; if there are none, any answer is accepted."""

    def is_answered(self, answers: Sequence[str]) -> bool:
        """Return whether one of the answers contains the requested information."""
        if not self.accepted:
            return bool(answers)
        return any(contains_accepted(answer, self.accepted) for answer in answers)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """A decision on (type, subject) with the answers to its question."""

    id: str
    request_id: str
    kind: DecisionKind
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """The next decision of a request on (type, subject)."""

    number: int
    """Number of the decision, from 1; escalations are not counted."""

    planned: Reaction | None
    """Planned reaction, if any."""

    times_asked: int = 0
    """Number of times that the planned question was already asked about this request."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a decision."""

    kind: DecisionKind
    reason_code: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """The data that determines who may decide a request."""

    company: Company
    approval_type: ApprovalType
    delegations: Sequence[Delegation]
    requester_id: str
    amount_cents: int
    approvers_before: frozenset[str] = frozenset()

    @property
    def role(self) -> Role:
        """The role of the next decision."""
        return self.approval_type.deciding_role(self.amount_cents, len(self.approvers_before))

    @property
    def approvals_missing(self) -> int:
        """The number of approvals still required."""
        return self.approval_type.approvals_needed(self.amount_cents) - len(self.approvers_before)


_DECISIONS, _REQUESTS, _NOTES, _REACTIONS = tables.decisions.c, tables.requests.c, tables.notes.c, tables.reactions.c
_ON_SUBJECT = (_REQUESTS.type_key == bindparam("type_key"), _REQUESTS.subject == bindparam("subject"))
_WITH_REQUESTS = tables.decisions.join(tables.requests, _DECISIONS.request_id == _REQUESTS.id)

_OF_REQUEST = FixedSelect(
    select(tables.decisions)
    .where(_DECISIONS.request_id == bindparam("request_id"))
    .order_by(_DECISIONS.at, *number_order(_DECISIONS.id))
)
_PAST = FixedSelect(
    select(_DECISIONS.id, _DECISIONS.request_id, _DECISIONS.kind)
    .select_from(_WITH_REQUESTS)
    .where(*_ON_SUBJECT)
    .order_by(_DECISIONS.at, *number_order(_DECISIONS.id))
)
_ANSWERS = FixedSelect(
    select(_NOTES.question_id, _NOTES.body)
    .select_from(_WITH_REQUESTS.join(tables.notes, _NOTES.question_id == _DECISIONS.id))
    .where(*_ON_SUBJECT)
    .order_by(_NOTES.at, *number_order(_NOTES.id))
)
_PLANNED = FixedSelect(
    select(tables.reactions)
    .where(_REACTIONS.type_key == bindparam("type_key"), _REACTIONS.subject == bindparam("subject"))
    .order_by(_REACTIONS.id)
)
_TRAIT = FixedSelect(select(tables.traits).where(tables.traits.c.id == bindparam("id")))


def read_case(db: Connection, company: Company, approval_type: ApprovalType, request: Request) -> Case:
    """Return the case of a request."""
    return Case(
        company=company,
        approval_type=approval_type,
        delegations=read_delegations(db),
        requester_id=request.requester_id,
        amount_cents=approval_type.amount_cents(request.fields),
        approvers_before=read_approvers(db, request.id),
    )


def read_approvers(db: Connection, request_id: str) -> frozenset[str]:
    """Return the ids of the people who have approved the request."""
    columns = tables.decisions.c
    statement = select(columns.by).where(columns.request_id == request_id, columns.kind == DecisionKind.APPROVED)
    return frozenset(db.execute(statement.order_by(columns.by)).scalars())


def read_decisions(db: Connection, request_id: str) -> list[Decision]:
    """Return the decisions on a request, oldest first."""
    rows = _OF_REQUEST.rows(db, request_id=request_id)
    return [Decision(**{**row, "kind": DecisionKind(row["kind"])}) for row in rows]


def read_turn(db: Connection, request: Request) -> Turn:
    """Return the next decision of the request."""
    return next_turn(_read_past(db, request), _read_reactions(db, request), request.id)


def next_turn(past: Sequence[PastDecision], planned: Mapping[int, Reaction], request_id: str) -> Turn:
    """Return the next decision after the past decisions, which are ordered oldest first.

    Each decision uses up one planned reaction, except that a question stays planned until it is answered.
    """
    counted = [decision for decision in past if decision.kind is not DecisionKind.ESCALATED]
    n, times_asked = 1, 0
    for decision in counted:
        reaction = planned.get(n)
        if reaction is None or reaction.kind is not ReactionKind.REQUEST_INFO:
            n += 1
        elif decision.kind is DecisionKind.INFO_REQUESTED and reaction.is_answered(decision.answers):
            n, times_asked = n + 1, 0
        elif decision.kind is DecisionKind.INFO_REQUESTED and decision.request_id == request_id:
            times_asked += 1
    return Turn(len(counted) + 1, planned.get(n), times_asked)


def _read_past(db: Connection, request: Request) -> list[PastDecision]:
    rows = _PAST.rows(db, type_key=request.type_key, subject=request.subject)
    answers: dict[str, list[str]] = {}
    for answer in _ANSWERS.rows(db, type_key=request.type_key, subject=request.subject) if rows else ():
        answers.setdefault(answer["question_id"], []).append(answer["body"])
    return [
        PastDecision(row["id"], row["request_id"], DecisionKind(row["kind"]), tuple(answers.get(row["id"], ())))
        for row in rows
    ]


def read_trait(db: Connection, person_id: str) -> Trait:
    """Return the response time of the person."""
    row = _TRAIT.row(db, id=person_id)
    return USUAL_TRAIT if row is None else Trait(row["min_minutes"], row["max_minutes"])


def _read_reactions(db: Connection, request: Request) -> dict[int, Reaction]:
    """Return the planned reactions on the request's type and subject by number; the lowest id wins."""
    found: dict[int, Reaction] = {}
    for row in _PLANNED.rows(db, type_key=request.type_key, subject=request.subject):
        kind, accepted = ReactionKind(row["kind"]), tuple(row["accepted"])
        found.setdefault(row["n"], Reaction(kind, row["reason_code"], row["reason"], row["extra_minutes"], accepted))
    return found


def insert_decision(db: Connection, decision: Decision) -> None:
    """Insert a decision."""
    db.execute(tables.decisions.insert(), asdict(decision))
