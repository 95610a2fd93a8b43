"""Requests of other people that wait for their decision longer than a task takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.world.calendar import into_office
from companyos_gateway.world.documents.approvalflow import (
    DecisionRow,
    FieldValue,
    NoteRow,
    ReactionRow,
    RequestRow,
    RequestStatus,
)
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

EXPIRES_AFTER_MINUTES = 60 * 24 * 60
SLOW_MINUTES = 14_000
"""Office minutes for which nobody decides: longer than a task has time."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request before it is written; `said` is what its approver has said to it, where they have."""

    type_key: str
    subject: str
    fields: Mapping[str, FieldValue]
    requester_id: str
    approver_id: str
    status: RequestStatus
    ticket_ref: str | None
    justification: str
    submitted_at: datetime
    said: str = ""


def add_request(world: World, stream: Stream, wanted: Request) -> RequestRow:
    """Add a request, with what was said to it; it gets its number with the others."""
    flow = world.flow
    row = RequestRow(
        id=f"request-{len(flow.requests)}",
        type_key=wanted.type_key,
        subject=wanted.subject,
        ticket_ref=wanted.ticket_ref,
        requester_id=wanted.requester_id,
        approver_id=wanted.approver_id,
        status=wanted.status,
        fields=dict(wanted.fields),
        justification=wanted.justification,
        submitted_at=wanted.submitted_at,
        decided_at=None,
        expires_at=wanted.submitted_at + timedelta(minutes=EXPIRES_AFTER_MINUTES),
    )
    flow.requests.append(row)
    if wanted.status in ("approved", "rejected", "info_requested"):
        _add_decision(world, stream, row, wanted.said)
    flow.reactions.append(
        ReactionRow(
            id=f"reaction-{wanted.subject}-1",
            type_key=wanted.type_key,
            subject=wanted.subject,
            n=1,
            kind="slow",
            reason_code=None,
            reason="",
            extra_minutes=SLOW_MINUTES,
        )
    )
    return row


def take_away(world: World, is_meant: Callable[[RequestRow], bool]) -> None:
    """Take away what waits already of the requests that are meant."""
    flow = world.flow
    open_ids = {row.id for row in flow.requests if row.status == "pending" and is_meant(row)}
    flow.requests = [row for row in flow.requests if row.id not in open_ids]
    flow.notes = [row for row in flow.notes if row.request_id not in open_ids]


def number_requests(world: World, stream: Stream) -> None:
    """Number requests in the order of their submission, so that a number says nothing but that."""
    flow = world.flow
    flow.requests.sort(key=lambda row: (row.submitted_at, row.subject))
    number = stream.integer(300, 900)
    ids: dict[str, str] = {}
    for row in flow.requests:
        number += stream.integer(1, 3)
        ids[row.id] = f"APR-{number}"
        row.id = ids[row.id]
    hanging: list[DecisionRow | NoteRow] = [*flow.decisions, *flow.notes]
    for hung in hanging:
        new = ids[hung.request_id]
        hung.id = f"{new}{hung.id.removeprefix(hung.request_id)}"
        hung.request_id = new


def _add_decision(world: World, stream: Stream, row: RequestRow, said: str) -> None:
    at = min(into_office(row.submitted_at + timedelta(minutes=stream.integer(30, 300))), world.started_at)
    row.decided_at = None if row.status == "info_requested" else at
    kind: Any = row.status
    world.flow.decisions.append(
        DecisionRow(id=f"{row.id}-D1", request_id=row.id, kind=kind, by=row.approver_id, at=at, reason=said)
    )
