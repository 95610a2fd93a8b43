"""Seed document of ApprovalFlow: approval types, requests, decisions, delegations and hidden reactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

FieldType = Literal["text", "number", "integer", "boolean", "datetime", "date"]
RequestStatus = Literal["pending", "info_requested", "approved", "rejected", "escalated", "cancelled", "withdrawn"]
DecisionKind = Literal["approved", "rejected", "info_requested", "escalated"]
ReactionKind = Literal["reject", "request_info", "slow"]
FieldValue = str | int | float | bool
AcceptedValue = str | int | float

ADMINISTERING_TEAMS = ("people", "security")
"""Teams that may cancel requests of every type: they offboard leavers and audit requests."""


@dataclass(slots=True, kw_only=True)
class FieldSpecRow:
    """Specification of a field of an approval type."""

    name: str
    type: FieldType
    required: bool
    description: str
    max_age_minutes: int | None = None
    names_beneficiary: bool = False


@dataclass(slots=True, kw_only=True)
class ThresholdRow:
    """Role that decides about amounts up to and including a limit; None means no limit."""

    up_to_cents: int | None
    role: str


@dataclass(slots=True, kw_only=True)
class ApprovalTypeRow:
    """Row of an approval type."""

    key: str
    title: str
    description: str
    policy_ref: str | None
    fields: list[FieldSpecRow]
    amount_field: str | None
    thresholds: list[ThresholdRow]
    second_role: str | None = None
    second_above_cents: int | None = None
    expires_after_minutes: int
    administered_by: list[str] = field(default_factory=lambda: list(ADMINISTERING_TEAMS))


@dataclass(slots=True, kw_only=True)
class RequestRow:
    """A request for an approval."""

    id: str
    type_key: str
    subject: str
    ticket_ref: str | None
    requester_id: str
    approver_id: str
    status: RequestStatus
    fields: dict[str, FieldValue]
    justification: str
    submitted_at: datetime
    decided_at: datetime | None
    expires_at: datetime
    version: int = 1


@dataclass(slots=True, kw_only=True)
class DecisionRow:
    """Row of a decision on a request."""

    id: str
    request_id: str
    kind: DecisionKind
    by: str
    at: datetime
    reason_code: str | None = None
    reason: str


@dataclass(slots=True, kw_only=True)
class NoteRow:
    """Row of a note on a request."""

    id: str
    request_id: str
    author_id: str
    at: datetime
    body: str


@dataclass(slots=True, kw_only=True)
class DelegationRow:
    """Row of a delegation of one person's authority to another."""

    id: str
    from_id: str
    to_id: str
    type_keys: list[str]
    limit_cents: int | None
    starts_at: datetime
    ends_at: datetime
    revoked_at: datetime | None
    created_by: str


@dataclass(slots=True, kw_only=True)
class TraitRow:
    """Hidden: range of the office minutes that a person takes to decide; `id` is the person's ID."""

    id: str
    min_minutes: int
    max_minutes: int


@dataclass(slots=True, kw_only=True)
class ReactionRow:
    """Hidden: the n-th decision on (type, subject), which replaces the honest verdict.

    The answer to a question must contain one of the accepted values; if there are none, every answer is accepted.
    """

    id: str
    type_key: str
    subject: str
    n: int
    kind: ReactionKind
    reason_code: str | None
    reason: str
    accepted: list[AcceptedValue] = field(default_factory=list)
    extra_minutes: int = 0


@dataclass(slots=True)
class ApprovalFlowDocument:
    """The rows with which ApprovalFlow starts."""

    approval_types: list[ApprovalTypeRow] = field(default_factory=list)
    requests: list[RequestRow] = field(default_factory=list)
    decisions: list[DecisionRow] = field(default_factory=list)
    notes: list[NoteRow] = field(default_factory=list)
    delegations: list[DelegationRow] = field(default_factory=list)
    traits: list[TraitRow] = field(default_factory=list)
    reactions: list[ReactionRow] = field(default_factory=list)
    scheduled_events: list[dict[str, Any]] = field(default_factory=list)
