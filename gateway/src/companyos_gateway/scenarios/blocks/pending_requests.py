"""Requests of other people that remain pending for longer than a task takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    leads_and_finance,
)
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.documents import ApprovalSubject, add_subject_record
from companyos_gateway.world.approvals import remove_requests
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_moments
from companyos_gateway.world.seed_documents.approvalflow import (
    DecisionRow,
    FieldValue,
    ReactionRow,
    RequestRow,
    RequestStatus,
)
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PENDING_EXPIRES_AFTER_MINUTES = 60 * 24 * 60
LONGEST_REPLY = timedelta(days=2)
SLOW_MINUTES = 14_000
"""Office minutes until a decision: longer than a task takes."""


@dataclass(frozen=True, kw_only=True)
class PendingRequest:
    """A request before its row is added; `approver_reply` is empty unless its approver has replied."""

    type_key: str
    subject: str
    fields: Mapping[str, FieldValue]
    requester_id: str
    approver_id: str
    status: RequestStatus
    ticket_ref: str | None
    justification: str
    submitted_at: datetime
    approver_reply: str = ""


def add_request(world: WorldBuilder, stream: Stream, request: PendingRequest) -> RequestRow:
    """Add a request with its approver's reply, if any, and return it. `number_requests` sets the final ID."""
    approvalflow = world.approvalflow
    row = RequestRow(
        id=f"request-{len(approvalflow.requests)}",
        type_key=request.type_key,
        subject=request.subject,
        ticket_ref=request.ticket_ref,
        requester_id=request.requester_id,
        approver_id=request.approver_id,
        status=request.status,
        fields=dict(request.fields),
        justification=request.justification,
        submitted_at=request.submitted_at,
        decided_at=None,
        expires_at=request.submitted_at + timedelta(minutes=PENDING_EXPIRES_AFTER_MINUTES),
    )
    approvalflow.requests.append(row)
    if request.status in ("approved", "rejected", "info_requested"):
        _add_decision(world, stream, row, request.approver_reply)
    approvalflow.reactions.append(
        ReactionRow(
            id=f"reaction-{request.subject}-1",
            type_key=request.type_key,
            subject=request.subject,
            n=1,
            kind="slow",
            reason_code=None,
            reason="",
            extra_minutes=SLOW_MINUTES,
        )
    )
    return row


def file_request(
    build: BuildContext,
    subject: ApprovalSubject,
    amount_cents: int,
    words: Mapping[str, Any],
    *,
    requester_id: str,
    approver_id: str,
    status: RequestStatus,
    submitted_at: datetime,
    ticket_ref: str | None = None,
) -> RequestRow:
    """File a request and the record that it is about.

    `words` contains possible `justifications` and, as `said`, the approver's replies by status.
    """
    record = add_subject_record(build.world, build.stream, subject, amount_cents, owner_id=requester_id)
    request = PendingRequest(
        type_key=subject.type_key,
        subject=record.id,
        fields={subject.id_field: record.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        approver_id=approver_id,
        status=status,
        ticket_ref=ticket_ref,
        justification=build.stream.choice(words["justifications"]),
        submitted_at=submitted_at,
        approver_reply=words["said"].get(status, ""),
    )
    return add_request(build.world, build.stream, request)


def add_escalation_approvers(
    build: BuildContext, type_key: str, role: Role, *, amount_cents: int, excluded_ids: Collection[str]
) -> ApproverChain:
    """Add the approvers of requests that are escalated to a role; `amount_cents` is the largest of their amounts."""
    spec = DecisionSpec(
        type_key=type_key,
        role=role,
        holder_ids=[build.world.staff.holders(role)[0].id],
        amount_cents=amount_cents,
        deputy_candidates=leads_and_finance(build.world).difference(excluded_ids),
        other_types=["access_grant", "document_publication"],
    )
    return add_approver_chain(build.world, build.stream.child("approvers"), spec, build.kinds)


def remove_pending_requests(world: WorldBuilder, is_selected: Callable[[RequestRow], bool]) -> None:
    """Remove the selected requests that are pending."""
    remove_requests(world, lambda row: row.status == "pending" and is_selected(row))


def _add_decision(world: WorldBuilder, stream: Stream, row: RequestRow, approver_reply: str) -> None:
    latest = min(row.submitted_at + LONGEST_REPLY, world.latest_after(row.submitted_at))
    [at] = draw_office_moments(stream, row.submitted_at, latest)
    row.decided_at = None if row.status == "info_requested" else at
    kind: Any = row.status
    world.approvalflow.decisions.append(
        DecisionRow(id=f"{row.id}-D1", request_id=row.id, kind=kind, by=row.approver_id, at=at, reason=approver_reply)
    )
