"""Requests of other people that remain pending for longer than a task takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    leads_and_finance,
)
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.documents import ApprovalSubject, file_subject_record
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


def add_request(
    build: BuildContext,
    *,
    type_key: str,
    subject: str,
    fields: Mapping[str, FieldValue],
    requester_id: str,
    approver_id: str,
    status: RequestStatus,
    justification: str,
    submitted_at: datetime,
    approver_reply: str,
    ticket_ref: str | None = None,
    expires_after_minutes: int = PENDING_EXPIRES_AFTER_MINUTES,
) -> RequestRow:
    """Add a request with its approver's reply, if it has one, and return it. `number_requests` sets the final ID."""
    approvalflow = build.world.approvalflow
    row = RequestRow(
        id=f"request-{len(approvalflow.requests)}",
        type_key=type_key,
        subject=subject,
        ticket_ref=ticket_ref,
        requester_id=requester_id,
        approver_id=approver_id,
        status=status,
        fields=dict(fields),
        justification=justification,
        submitted_at=submitted_at,
        decided_at=None,
        expires_at=submitted_at + timedelta(minutes=expires_after_minutes),
    )
    approvalflow.requests.append(row)
    if status in ("approved", "rejected", "info_requested"):
        _add_decision(build.world, build.stream, row, approver_reply)
    approvalflow.reactions.append(
        ReactionRow(
            id=f"reaction-{subject}-1",
            type_key=type_key,
            subject=subject,
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
    status: RequestStatus,
    **columns: Any,
) -> RequestRow:
    """File a request and the record that it is about.

    `words` contains possible `justifications` and, as `said`, the approver's replies by status.
    """
    record = file_subject_record(build, subject, amount_cents, owner_id=requester_id)
    return add_request(
        build,
        type_key=subject.type_key,
        subject=record.id,
        fields={subject.id_field: record.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        status=status,
        justification=build.stream.choice(words["justifications"]),
        approver_reply=words["said"].get(status, ""),
        **columns,
    )


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


def _add_decision(world: WorldBuilder, stream: Stream, row: RequestRow, approver_reply: str) -> None:
    latest = min(row.submitted_at + LONGEST_REPLY, world.latest_after(row.submitted_at))
    [at] = draw_office_moments(stream, row.submitted_at, latest)
    row.decided_at = None if row.status == "info_requested" else at
    kind: Any = row.status
    world.approvalflow.decisions.append(
        DecisionRow(id=f"{row.id}-D1", request_id=row.id, kind=kind, by=row.approver_id, at=at, reason=approver_reply)
    )
