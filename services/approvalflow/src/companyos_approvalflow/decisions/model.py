"""Decisions, and the planned response times and reactions of approvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, select

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.model import ApprovalType
from companyos_approvalflow.delegations.model import Delegation, read_delegations
from companyos_approvalflow.requests.model import Request
from companyos_shared.choices import Choice
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
    """The planned n-th decision on (type, subject). Objections by the rules take precedence."""

    kind: ReactionKind
    reason_code: str | None
    reason: str
    extra_minutes: int


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


_COLUMNS = tables.decisions.c
_OF_REQUEST = (
    select(tables.decisions).where(_COLUMNS.request_id == bindparam("request_id")).order_by(_COLUMNS.at, _COLUMNS.id)
)


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
    rows = db.execute(_OF_REQUEST, {"request_id": request_id})
    return [Decision(**{**row._mapping, "kind": DecisionKind(row.kind)}) for row in rows]


def read_turn(db: Connection, type_key: str, subject: str) -> int:
    """Return the number of the next decision on (type, subject), from 1; escalations do not count."""
    decisions, requests = tables.decisions.c, tables.requests.c
    joined = tables.decisions.join(tables.requests, decisions.request_id == requests.id)
    statement = select(func.count()).select_from(joined)
    on_subject = (requests.type_key == type_key) & (requests.subject == subject)
    return 1 + db.execute(statement.where(on_subject, decisions.kind != DecisionKind.ESCALATED)).scalar_one()


def read_trait(db: Connection, person_id: str) -> Trait:
    """Return the response time of the person."""
    columns = tables.traits.c
    row = db.execute(select(columns.min_minutes, columns.max_minutes).where(columns.id == person_id)).one_or_none()
    return USUAL_TRAIT if row is None else Trait(row.min_minutes, row.max_minutes)


def read_reaction(db: Connection, request: Request, turn: int) -> Reaction | None:
    """Return the planned reaction for that decision on the request's type and subject, or None."""
    columns = tables.reactions.c
    statement = select(columns.kind, columns.reason_code, columns.reason, columns.extra_minutes).where(
        columns.type_key == request.type_key, columns.subject == request.subject, columns.n == turn
    )
    row = db.execute(statement.order_by(columns.id).limit(1)).one_or_none()
    return None if row is None else Reaction(**{**row._mapping, "kind": ReactionKind(row.kind)})


def insert_decision(db: Connection, decision: Decision) -> None:
    """Insert a decision."""
    db.execute(tables.decisions.insert(), asdict(decision))
