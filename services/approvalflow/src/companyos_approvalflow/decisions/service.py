"""Approver simulation: schedules and applies decisions. Information and escalation schedule a new decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from companyos_approvalflow.approval_types.rules import checked_fields
from companyos_approvalflow.approval_types.service import require_type
from companyos_approvalflow.decisions import schemas
from companyos_approvalflow.decisions.model import (
    Case,
    Decision,
    DecisionKind,
    Verdict,
    insert_decision,
    read_approvers,
    read_case,
    read_decisions,
    read_trait,
    read_turn,
)
from companyos_approvalflow.decisions.rules import (
    answer_text,
    check_may_be_asked,
    check_other_approver,
    decision_time,
    honest_objection,
    no_second_approver,
    second_approver,
    verdict,
)
from companyos_approvalflow.notes.model import Note, insert_note
from companyos_approvalflow.requests.model import (
    OPEN,
    WAITING,
    Request,
    RequestStatus,
    read_request,
    update_request,
)
from companyos_approvalflow.requests.rules import (
    check_amount_stays,
    check_is_information,
    check_may_move,
    check_waits_for_information,
    existing,
)
from companyos_shared.framework import Call, check_version

DECIDE, EXPIRE = "decide", "expire"


def schedule_decision(call: Call, request: Request) -> None:
    """Draw the time of the approver's decision and schedule it, unless the request expires first.

    The draw depends on type, subject, approver and number of the decision, so a new request does not change it.
    """
    turn = read_turn(call.db, request)
    trait = read_trait(call.db, request.approver_id)
    entity = f"{request.type_key}/{request.subject}/{request.approver_id}"
    minutes = call.stream("decision", entity, turn.number).integer(trait.min_minutes, trait.max_minutes)
    minutes += turn.planned.extra_minutes if turn.planned is not None and not turn.times_asked else 0
    due_at = decision_time(call.company, request.approver_id, start=call.now, office_minutes=minutes)
    if due_at is not None and due_at < request.expires_at:
        call.schedule(due_at, DECIDE, {"request_id": request.id, "version": request.version})


def schedule_expiry(call: Call, request: Request) -> None:
    """Schedule the expiry of the request."""
    call.schedule(request.expires_at, EXPIRE, {"request_id": request.id})


def apply_decision(call: Call, payload: dict[str, Any]) -> None:
    """Apply a scheduled decision, unless the request has changed since it was scheduled."""
    request = read_request(call.db, payload["request_id"])
    if request is None or request.version != payload["version"] or request.status not in WAITING:
        return
    case = read_case(call.db, call.company, require_type(call, request.type_key), request)
    decided = verdict(honest_objection(case, request, call.now), read_turn(call.db, request))
    if decided.kind is DecisionKind.APPROVED and case.approvals_missing > 1:
        _approve_first(call, request, case, decided)
        return
    _record(call, request, decided, by=request.approver_id)
    decided_at = None if decided.kind is DecisionKind.INFO_REQUESTED else call.now
    update_request(call.db, request, status=RequestStatus(decided.kind.value), decided_at=decided_at)


def apply_expiry(call: Call, payload: dict[str, Any]) -> None:
    """Expire a request that is still open."""
    request = read_request(call.db, payload["request_id"])
    if request is not None and request.status in OPEN:
        update_request(call.db, request, status=RequestStatus.EXPIRED)


def provide_information(call: Call, request_id: str, body: schemas.Information, if_match: int | None) -> Request:
    """Store the answer with the question, change the given fields, and schedule a new decision."""
    request = existing(read_request(call.db, request_id), request_id)
    check_version(if_match, request.version)
    check_waits_for_information(request)
    approval_type = require_type(call, request.type_key)
    fields = checked_fields(approval_type, {**request.fields, **body.fields}, call.now)
    check_is_information(request, fields, answer=body.answer)
    approvals = len(read_approvers(call.db, request.id))
    check_amount_stays(approval_type, request, fields=fields, approvals=approvals)
    given = {name: fields[name] for name in fields if name in body.fields}
    _keep_answer(call, request, answer_text(body.answer, given))
    changed = update_request(call.db, request, status=RequestStatus.PENDING, fields=fields)
    schedule_decision(call, changed)
    return changed


def _keep_answer(call: Call, request: Request, text: str) -> None:
    """Store the answer as a note on the latest question."""
    questions = [one for one in read_decisions(call.db, request.id) if one.kind is DecisionKind.INFO_REQUESTED]
    question_id = questions[-1].id if questions else None
    number = call.next_number(f"{request.id}-N")
    insert_note(call.db, Note(f"{request.id}-N{number}", request.id, call.person, call.now, text, question_id))


def escalate(call: Call, request_id: str, body: schemas.Escalation, if_match: int | None) -> Request:
    """Pass a waiting request to another approver, and schedule a new decision."""
    request = existing(read_request(call.db, request_id), request_id)
    check_version(if_match, request.version)
    check_may_move(request, RequestStatus.ESCALATED)
    case = read_case(call.db, call.company, require_type(call, request.type_key), request)
    check_other_approver(request, body.approver_id)
    check_may_be_asked(case, body.approver_id, call.now)
    escalation = Verdict(DecisionKind.ESCALATED, None, body.reason)
    _record(call, request, escalation, by=call.person, reason_ref=body.reason_ref)
    return _escalate_to(call, request, body.approver_id)


def _approve_first(call: Call, request: Request, case: Case, approved: Verdict) -> None:
    rest = replace(case, approvers_before=case.approvers_before | {request.approver_id})
    second = second_approver(rest, call.now)
    if second is None:
        _record(call, request, no_second_approver(), by=request.approver_id)
        update_request(call.db, request, status=RequestStatus.REJECTED, decided_at=call.now)
        return
    _record(call, request, approved, by=request.approver_id)
    _escalate_to(call, request, second)


def _escalate_to(call: Call, request: Request, approver_id: str) -> Request:
    passed = update_request(call.db, request, status=RequestStatus.ESCALATED, approver_id=approver_id)
    schedule_decision(call, passed)
    return passed


def _record(call: Call, request: Request, decided: Verdict, *, by: str, reason_ref: str | None = None) -> None:
    number = call.next_number(f"{request.id}-D")
    insert_decision(
        call.db,
        Decision(
            id=f"{request.id}-D{number}",
            request_id=request.id,
            kind=decided.kind,
            by=by,
            at=call.now,
            reason_code=decided.reason_code,
            reason_ref=reason_ref,
            reason=decided.reason,
        ),
    )
