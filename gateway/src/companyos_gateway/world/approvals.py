"""Rows of ApprovalFlow: approval types, requests with decisions and notes, delegations, and decision times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import draw_office_moments, draw_office_time, working_days_from
from companyos_gateway.world.policies import policy_in_force
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import (
    ApprovalTypeRow,
    DecisionRow,
    DelegationRow,
    FieldSpecRow,
    FieldValue,
    NoteRow,
    RequestRow,
    RequestStatus,
    ThresholdRow,
    TraitRow,
)
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person, Role

REQUESTS = (20, 26)
DELEGATIONS = (3, 5)
FIRST_NUMBERS = (300, 900)
"""Range of the number before that of the first request."""
EXPIRES_AFTER_MINUTES = 20 * 24 * 60
RECENT = timedelta(days=12)
"""Age below which requests may still be pending."""
LONGEST_DECISION = timedelta(days=4)


_STATUSES: list[tuple[RequestStatus, int]] = [("approved", 12), ("rejected", 3), ("withdrawn", 2)]
_RECENT_STATUSES: list[tuple[RequestStatus, int]] = [("pending", 4), ("approved", 3), ("rejected", 1)]
_RECORD_OF = {
    "expense_report": "expense",
    "purchase_order": "purchase_order",
    "access_grant": "access_grant",
    "contract_renewal": "contract",
    "document_publication": "document",
}
_JUSTIFICATIONS = {
    "expense_report": ("The trip was agreed with my team lead.", "Expenses of a business trip."),
    "purchase_order": (
        "Included in this year's budget and agreed with the team lead.",
        "The other quotes were higher.",
    ),
    "access_grant": ("Needed for the daily work of our team.", "Agreed with the team lead."),
    "contract_renewal": ("The terms are the same as last year.", "The alternatives were more expensive."),
    "document_publication": ("The published revision is out of date.", "Two colleagues have proofread the page."),
}
_REJECTIONS = {
    "expense_report": "Please ask your team lead for the right cost center first.",
    "purchase_order": "There is no budget for this in the current quarter.",
    "access_grant": "The access is not needed for this work.",
    "contract_renewal": "There is no budget for this in the current quarter.",
    "document_publication": "The wording has to be revised first.",
}
_NOTES = ("I have looked at the record.", "Please submit such requests a little earlier next time.")


def draw_approvals(world: WorldBuilder, stream: Stream) -> None:
    """Draw approval types, past requests, delegations, and how long people take to decide."""
    for entry in pool("policies")["approval"]:
        world.approvalflow.approval_types.append(_approval_type(world, stream.child(entry["key"]), entry))
    _draw_requests(world, stream.child("requests"))
    _draw_delegations(world, stream.child("delegations"))
    _draw_traits(world, stream.child("traits"))


def number_delegations(world: WorldBuilder) -> None:
    """Sort delegations by their start and number them in this order."""
    world.approvalflow.delegations.sort(key=lambda row: (row.starts_at, row.from_id, row.to_id))
    for count, row in enumerate(world.approvalflow.delegations, start=1):
        row.id = f"DEL-{count}"


def add_delegation(
    world: WorldBuilder,
    giver_id: str,
    delegate_id: str,
    *,
    type_keys: Sequence[str],
    limit_cents: int | None,
    starts_at: datetime,
    ends_at: datetime,
    revoked_at: datetime | None = None,
) -> DelegationRow:
    """Add a delegation that the giver created, and return it."""
    row = DelegationRow(
        id="",
        from_id=giver_id,
        to_id=delegate_id,
        type_keys=list(type_keys),
        limit_cents=limit_cents,
        starts_at=starts_at,
        ends_at=ends_at,
        revoked_at=revoked_at,
        created_by=giver_id,
    )
    world.approvalflow.delegations.append(row)
    return row


def number_requests(world: WorldBuilder, stream: Stream) -> None:
    """Number requests in order of submission, so that a number reveals nothing else."""
    approvalflow = world.approvalflow
    approvalflow.requests.sort(key=lambda row: (row.submitted_at, row.subject))
    number = stream.integer(*FIRST_NUMBERS) if world.base is None else 0
    ids: dict[str, str] = {}
    for row in approvalflow.requests:
        number = _next_number(world, number, stream.integer(1, 3), row.submitted_at)
        ids[row.id] = f"APR-{number}"
        row.id = ids[row.id]
    attached_rows: list[DecisionRow | NoteRow] = [*approvalflow.decisions, *approvalflow.notes]
    for attached in attached_rows:
        new = ids[attached.request_id]
        attached.id = f"{new}{attached.id.removeprefix(attached.request_id)}"
        attached.request_id = new


def _next_number(world: WorldBuilder, number: int, gap: int, at: datetime) -> int:
    """Return the next request's number: after a gap, or by submission time among the requests of a base."""
    return number + gap if world.base is None else world.base.number_request(at, number)


def remove_requests(world: WorldBuilder, is_selected: Callable[[RequestRow], bool]) -> None:
    """Remove the selected requests with their decisions and notes, except those of earlier tasks."""
    approvalflow = world.approvalflow
    ids = {row.id for row in approvalflow.requests if is_selected(row) and not world.is_kept(row)}
    approvalflow.requests = [row for row in approvalflow.requests if row.id not in ids]
    approvalflow.decisions = [row for row in approvalflow.decisions if row.request_id not in ids]
    approvalflow.notes = [row for row in approvalflow.notes if row.request_id not in ids]


def _approval_type(world: WorldBuilder, stream: Stream, entry: dict[str, Any]) -> ApprovalTypeRow:
    return ApprovalTypeRow(
        key=entry["key"],
        title=entry["title"],
        description=entry["description"],
        policy_ref=policy_in_force(world, entry["topic"]).policy_id,
        fields=[
            FieldSpecRow(name=field["name"], type=field["type"], required=True, description=field["description"])
            for field in entry["fields"]
        ],
        amount_field=entry.get("amount_field"),
        thresholds=[_threshold(stream, threshold) for threshold in entry["thresholds"]],
        expires_after_minutes=EXPIRES_AFTER_MINUTES,
    )


def _threshold(stream: Stream, entry: dict[str, Any]) -> ThresholdRow:
    limit = rounded_amount(stream, *entry["up_to_cents"]) if "up_to_cents" in entry else None
    return ThresholdRow(up_to_cents=limit, role=entry["role"])


def _draw_requests(world: WorldBuilder, stream: Stream) -> None:
    records = {kind: [one for one in world.datahub.records if one.kind == kind] for kind in _RECORD_OF.values()}
    number = stream.integer(*FIRST_NUMBERS) if world.base is None else 0
    days = sorted((stream.integer(1, 45) for _ in range(stream.integer(*REQUESTS))), reverse=True)
    for days_ago in days:
        gap = stream.integer(1, 3)
        at = draw_office_time(stream, working_days_from(world.today, -days_ago))
        number = _next_number(world, number, gap, at)
        slot = KeySlot(f"APR-{number}", at)
        approval_type = stream.choice(world.approvalflow.approval_types)
        candidates = records[_RECORD_OF[approval_type.key]]
        filed = [record for record in candidates if record.created_at < slot.created_at]
        if filed:
            record = stream.choice(filed)
            candidates.remove(record)
            _draw_request(world, stream, slot, approval_type, record)


def _draw_request(
    world: WorldBuilder, stream: Stream, slot: KeySlot, approval_type: ApprovalTypeRow, record: RecordRow
) -> None:
    fields = {spec.name: _field(spec, record) for spec in approval_type.fields}
    approver = _pick_approver(world, stream, approval_type, record)
    others = [one for one in world.present(slot.created_at.date()) if one.id not in (approver.id, world.agent_id)]
    claimant_id = _claimant_id(record)
    requester = world.staff.person(claimant_id) if claimant_id else stream.choice(others)
    is_recent = world.started_at - slot.created_at < RECENT
    status = stream.weighted(_RECENT_STATUSES if is_recent else _STATUSES)
    latest = min(slot.created_at + LONGEST_DECISION, world.latest_after(slot.created_at))
    [decided_at] = draw_office_moments(stream, slot.created_at, latest)
    request = RequestRow(
        id=slot.key,
        type_key=approval_type.key,
        subject=record.id,
        ticket_ref=None,
        requester_id=requester.id,
        approver_id=approver.id,
        status=status,
        fields=fields,
        justification=stream.choice(_JUSTIFICATIONS[approval_type.key]),
        submitted_at=slot.created_at,
        decided_at=decided_at if status in ("approved", "rejected") else None,
        expires_at=slot.created_at + timedelta(minutes=EXPIRES_AFTER_MINUTES),
    )
    world.approvalflow.requests.append(request)
    if status in ("approved", "rejected"):
        world.approvalflow.decisions.append(
            DecisionRow(
                id=f"{request.id}-D1",
                request_id=request.id,
                kind=status,
                by=approver.id,
                at=decided_at,
                reason="Approved." if status == "approved" else _REJECTIONS[approval_type.key],
            )
        )
    if stream.chance(0.3):
        body = stream.choice(_NOTES)
        world.approvalflow.notes.append(
            NoteRow(id=f"{request.id}-N1", request_id=request.id, author_id=approver.id, at=decided_at, body=body)
        )


def _field(spec: FieldSpecRow, record: RecordRow) -> FieldValue:
    if spec.type == "integer":
        return record.amount_cents or 0
    if spec.type == "boolean":
        return bool(record.fields.get("receipt_attached", True))
    if spec.type == "date":
        return (record.ends_on or record.created_at.date()).isoformat()
    return record.id


def _pick_approver(world: WorldBuilder, stream: Stream, approval_type: ApprovalTypeRow, record: RecordRow) -> Person:
    amount = record.amount_cents or 0
    role = next(one.role for one in approval_type.thresholds if one.up_to_cents is None or amount <= one.up_to_cents)
    return stream.choice([one for one in world.staff.holders(Role(role)) if one.id != _claimant_id(record)])


def _claimant_id(record: RecordRow) -> str | None:
    """Return the only person who may request approval of a record: the owner of an expense; None for other kinds."""
    return record.owner_id if record.kind == "expense" else None


def _draw_delegations(world: WorldBuilder, stream: Stream) -> None:
    """Draw delegations from people with non-executive roles to members of their teams."""
    holders = [one for one in world.staff.active() if _is_non_executive_lead(one)]
    for giver in stream.sample(holders, stream.integer(*DELEGATIONS)):
        team = [one for one in world.staff.active(giver.team_id) if one.id != giver.id]
        starts_on = working_days_from(world.today, stream.integer(-40, 5))
        add_delegation(
            world,
            giver.id,
            stream.choice(team).id,
            type_keys=[stream.choice(world.approvalflow.approval_types).key] if stream.chance(0.5) else [],
            limit_cents=rounded_amount(stream, 100000, 3000000) if stream.chance(0.6) else None,
            starts_at=draw_office_time(stream, starts_on),
            ends_at=draw_office_time(stream, working_days_from(starts_on, stream.integer(3, 30))),
        )


def _is_non_executive_lead(person: Person) -> bool:
    roles = {held.role for held in person.roles}
    return bool(roles) and not roles & {Role.CEO, Role.CFO, Role.CTO}


def _draw_traits(world: WorldBuilder, stream: Stream) -> None:
    for person in world.staff.active():
        if person.roles:
            fastest = stream.integer(20, 90)
            slowest = fastest + stream.integer(30, 240)
            world.approvalflow.traits.append(TraitRow(id=person.id, min_minutes=fastest, max_minutes=slowest))
