"""Schemas of requests."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from companyos_approvalflow.decisions.model import DecisionKind
from companyos_approvalflow.decisions.schemas import APPROVER_DESCRIPTION, Id
from companyos_approvalflow.notes.schemas import Note
from companyos_approvalflow.requests.model import SHORTEST_JUSTIFICATION, RequestStatus
from companyos_shared.choices import Choice
from companyos_shared.framework import RequestModel, ResponseModel, example
from companyos_shared.wire.company import ReasonCode

LONGEST_JUSTIFICATION = 2000
LONGEST_SUBJECT = 120

RequestId = Annotated[str, Path(max_length=64, examples=["APR-1007"], description="ID of the request.")]
CancelledId = Annotated[
    str,
    Path(
        max_length=64,
        examples=["APR-1007"],
        description=(
            "A request that you submitted, that waits for your decision, or whose type your team administers "
            "(`administered_by` of the approval type)."
        ),
    ),
]
Subject = Annotated[str, Field(min_length=1, max_length=LONGEST_SUBJECT, pattern=r"^\S(.*\S)?$")]
Justification = Annotated[
    str,
    Field(
        max_length=LONGEST_JUSTIFICATION,
        description=f"At least {SHORTEST_JUSTIFICATION} characters; approvers reject shorter ones.",
    ),
]

_SUBMITTED: dict[str, Any] = {
    "type_key": "vendor_onboarding",
    "subject": "V-204",
    "approver_id": "E-104",
    "fields": {"vendor_id": "V-204", "annual_cost_cents": 1250000, "score_as_of": "2026-03-02T08:40:00Z"},
    "justification": "Replaces the supplier that stops in May.",
    "ticket_ref": "OPS-1042",
}


class NewApproval(RequestModel):
    """A request to submit."""

    model_config = example(**_SUBMITTED)

    type_key: Id = Field(description="Key of the approval type.")
    subject: Subject = Field(
        description="ID of the object to approve. Only one request of a type may be open per subject."
    )
    approver_id: Id = Field(description=APPROVER_DESCRIPTION)
    fields: dict[str, Any] = Field(description="Values of the fields that the approval type defines.")
    justification: Justification = ""
    ticket_ref: Id | None = Field(None, description="Key of the related ticket.")


class Cancellation(RequestModel):
    """Reason of a cancellation."""

    model_config = example(reason_code="policy_violation", reason_ref="POL-007-v3")

    reason_code: ReasonCode = Field(description="Reason for the cancellation.")
    reason_ref: Id = Field(description="ID of the related policy, record or person.")


class ApprovalRow(ResponseModel):
    """A request in a list."""

    id: str
    type_key: str
    subject: str
    status: RequestStatus
    requester_id: str
    approver_id: str
    submitted_at: datetime


class Decision(ResponseModel):
    """A decision on a request."""

    kind: DecisionKind
    by: str
    at: datetime
    reason_code: str | None
    reason_ref: str | None
    reason: str


class EntryKind(Choice):
    """Kind of an entry of a thread."""

    QUESTION = "question"
    ANSWER = "answer"


class ThreadEntry(ResponseModel):
    """A question of an approver or an answer to it."""

    kind: EntryKind
    author_id: str
    at: datetime
    text: str


class Approval(ApprovalRow):
    """A request with its decisions, questions, answers and latest notes."""

    model_config = example(
        **_SUBMITTED,
        id="APR-1007",
        status="pending",
        requester_id="E-117",
        submitted_at="2026-03-02T09:15:00Z",
        decided_at=None,
        expires_at="2026-03-07T09:15:00Z",
        reason_code=None,
        reason_ref=None,
        version=1,
        approvals_needed=1,
        decisions=[],
        thread=[],
        notes=[],
        notes_total=0,
    )

    ticket_ref: str | None
    fields: dict[str, Any]
    justification: str
    decided_at: datetime | None
    expires_at: datetime
    reason_code: ReasonCode | None = Field(description="Reason for the cancellation.")
    reason_ref: str | None
    version: int
    approvals_needed: int = Field(description="Number of required approvals.")
    decisions: list[Decision]
    thread: list[ThreadEntry] = Field(description="Questions of approvers with their answers, oldest first.")
    notes: list[Note] = Field(description="The latest five.")
    notes_total: int
