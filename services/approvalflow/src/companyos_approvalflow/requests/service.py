"""Service functions of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import select

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.rules import checked_fields
from companyos_approvalflow.approval_types.service import require_type
from companyos_approvalflow.decisions.model import Case, Decision, DecisionKind, read_decisions
from companyos_approvalflow.decisions.rules import check_may_be_asked
from companyos_approvalflow.decisions.service import schedule_decision, schedule_expiry
from companyos_approvalflow.delegations.model import read_delegations
from companyos_approvalflow.notes.model import Note as NoteOfRequest
from companyos_approvalflow.notes.model import read_answers, read_latest_notes
from companyos_approvalflow.notes.schemas import Note
from companyos_approvalflow.requests import schemas
from companyos_approvalflow.requests.model import (
    ID_PREFIX,
    Request,
    RequestStatus,
    insert_request,
    read_open_request,
    read_request,
    update_request,
)
from companyos_approvalflow.requests.rules import (
    check_is_requester,
    check_may_cancel,
    check_may_move,
    check_none_open,
    existing,
)
from companyos_shared.framework import Call, Page, PageParams, check_version, paginate
from companyos_shared.wire.company import ReasonCode

MAX_NOTES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """Filters of a list; None matches all."""

    status: RequestStatus | None
    type_key: str | None
    subject: str | None
    ticket_ref: str | None
    approver_id: str | None
    requester_id: str | None


def submit(call: Call, body: schemas.NewApproval) -> schemas.Approval:
    """Submit a request, and schedule its decision and its expiry."""
    approval_type = require_type(call, body.type_key)
    fields = checked_fields(approval_type, body.fields, call.now)
    case = Case(
        company=call.company,
        approval_type=approval_type,
        delegations=read_delegations(call.db),
        requester_id=call.person,
        amount_cents=approval_type.amount_cents(fields),
    )
    check_may_be_asked(case, body.approver_id, call.now)
    check_none_open(read_open_request(call.db, approval_type.key, body.subject))
    request = Request(
        id=f"{ID_PREFIX}{call.next_number(ID_PREFIX)}",
        type_key=approval_type.key,
        subject=body.subject,
        ticket_ref=body.ticket_ref,
        requester_id=call.person,
        approver_id=body.approver_id,
        status=RequestStatus.PENDING,
        fields=fields,
        justification=body.justification,
        submitted_at=call.now,
        decided_at=None,
        expires_at=call.now + timedelta(minutes=approval_type.expires_after_minutes),
        reason_code=None,
        reason_ref=None,
        version=1,
    )
    insert_request(call.db, request)
    schedule_decision(call, request)
    schedule_expiry(call, request)
    return show(call, request)


def list_requests(call: Call, page: PageParams, filters: ApprovalFilter) -> Page[schemas.ApprovalRow]:
    """Return requests, latest submission first."""
    columns = tables.requests.c
    statement = select(*(columns[name] for name in schemas.ApprovalRow.model_fields))
    values = {name: value for name, value in asdict(filters).items() if value is not None}
    statement = statement.where(*(columns[name] == value for name, value in values.items()))
    order = [columns.submitted_at, columns.id]
    build = schemas.ApprovalRow.model_validate
    return paginate(call, statement, page, order_by=order, build=build, descending=True)


def require_request(call: Call, request_id: str) -> Request:
    """Return the request; raises RequestNotFoundError (404)."""
    return existing(read_request(call.db, request_id), request_id)


def show_request(call: Call, request_id: str) -> schemas.Approval:
    """Return the request with its decisions and latest notes."""
    return show(call, require_request(call, request_id))


def withdraw(call: Call, request_id: str, if_match: int | None) -> schemas.Approval:
    """Withdraw a request of the caller."""
    request = require_request(call, request_id)
    check_version(if_match, request.version)
    check_is_requester(request, call.person)
    check_may_move(request, RequestStatus.WITHDRAWN)
    return show(call, update_request(call.db, request, status=RequestStatus.WITHDRAWN))


def cancel(
    call: Call, request_id: str, *, reason_code: ReasonCode, reason_ref: str, if_match: int | None
) -> schemas.Approval:
    """Cancel a request for a reason."""
    request = require_request(call, request_id)
    check_version(if_match, request.version)
    check_may_cancel(call.company, require_type(call, request.type_key), request, call.person)
    check_may_move(request, RequestStatus.CANCELLED)
    status = RequestStatus.CANCELLED
    ended = update_request(call.db, request, status=status, reason_code=reason_code.value, reason_ref=reason_ref)
    return show(call, ended)


def show(call: Call, request: Request) -> schemas.Approval:
    """Return the response schema of a request."""
    approval_type = require_type(call, request.type_key)
    columns = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    decisions = read_decisions(call.db, request.id)
    notes, notes_total = read_latest_notes(call.db, request.id, MAX_NOTES_SHOWN)
    return schemas.Approval(
        **columns,
        approvals_needed=approval_type.approvals_needed(approval_type.amount_cents(request.fields)),
        decisions=[schemas.Decision.model_validate(decision) for decision in decisions],
        thread=_thread(decisions, read_answers(call.db, request.id)),
        notes=[Note.model_validate(note) for note in notes],
        notes_total=notes_total,
    )


def _thread(decisions: Sequence[Decision], answers: Sequence[NoteOfRequest]) -> list[schemas.ThreadEntry]:
    """Return each question, followed by its answers."""
    thread: list[schemas.ThreadEntry] = []
    for question in decisions:
        if question.kind is not DecisionKind.INFO_REQUESTED:
            continue
        thread.append(
            schemas.ThreadEntry(
                kind=schemas.EntryKind.QUESTION, author_id=question.by, at=question.at, text=question.reason
            )
        )
        thread += [
            schemas.ThreadEntry(kind=schemas.EntryKind.ANSWER, author_id=note.author_id, at=note.at, text=note.body)
            for note in answers
            if note.question_id == question.id
        ]
    return thread
