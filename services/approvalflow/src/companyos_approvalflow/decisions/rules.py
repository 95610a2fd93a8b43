"""Rules of decisions: eligible approvers (role, delegation, presence, separation of duties) and verdicts."""

from __future__ import annotations

from datetime import datetime, timedelta

from companyos_approvalflow.approval_types.model import Fields, FieldSpec
from companyos_approvalflow.decisions.model import (
    Case,
    DecisionKind,
    Reaction,
    ReactionKind,
    RejectionReason,
    Turn,
    Verdict,
)
from companyos_approvalflow.delegations.rules import OUT_OF_FORCE, DelegationLimitTooLowError, delegation_refusal
from companyos_approvalflow.requests.model import SHORTEST_JUSTIFICATION, Request
from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import Company

MAX_TIMES_ASKED = 2
"""Maximum number of times that an approver asks the same question about a request."""


class UnknownApproverError(ServiceError):
    status, code, title = 422, "unknown-approver", "Approver not found"


class ApproverDepartedError(ServiceError):
    status, code, title = 403, "approver-departed", "Approver not employed"


class OwnRequestError(ServiceError):
    status, code, title = 403, "own-request", "Approver is the requester"


class AlreadyApprovedByError(ServiceError):
    status, code, title = 403, "already-approved-by", "Already approved by this approver"


class ApproverNotEntitledError(ServiceError):
    status, code, title = 403, "approver-not-entitled", "Approver not entitled"


class ApproverOutOfOfficeError(ServiceError):
    status, code, title = 409, "approver-out-of-office", "Approver out of office"


class ApproverUnchangedError(ServiceError):
    status, code, title = 409, "approver-unchanged", "Approver unchanged"


APPROVER_PROBLEMS: tuple[type[ServiceError], ...] = (
    UnknownApproverError,
    ApproverDepartedError,
    OwnRequestError,
    ApproverNotEntitledError,
    *OUT_OF_FORCE,
    ApproverOutOfOfficeError,
)
"""Errors for an ineligible approver, in the order of the checks."""


def check_may_be_asked(case: Case, person_id: str, now: datetime) -> None:
    """Raise one of APPROVER_PROBLEMS or AlreadyApprovedByError if the person is not eligible for the case at `now`."""
    day = now.date()
    person = case.company.person(person_id)
    if person is None:
        raise UnknownApproverError(f'approver_id must be the id of an employee; got "{person_id}"')
    if not person.is_employed(day):
        raise ApproverDepartedError(f"{person_id} is not employed on {day}.")
    check_duties_apart(case, person_id)
    check_entitled(case, person_id, now)
    if case.company.is_out_of_office(person_id, day):
        raise ApproverOutOfOfficeError(f"{person_id} is out of office on {day}.")


def check_duties_apart(case: Case, person_id: str) -> None:
    """Raise OwnRequestError or AlreadyApprovedByError (403) if the person submitted or already approved the request."""
    if person_id == case.requester_id:
        raise OwnRequestError(f"{person_id} submitted the request.")
    if person_id in case.approvers_before:
        raise AlreadyApprovedByError(f"{person_id} has already approved the request.")


def check_entitled(case: Case, person_id: str, now: datetime) -> None:
    """Raise ApproverNotEntitledError (403), or the error of the delegation that comes closest to covering the decision.

    A person is entitled if they hold the case's role on the day of `now`, or have a delegation from a holder other than
    the requester and earlier approvers.
    """
    day = now.date()
    if case.company.held_role(person_id, case.role, day):
        return
    refusals = []
    for delegation in case.delegations:
        giver = delegation.from_id
        if delegation.to_id != person_id or giver == case.requester_id or giver in case.approvers_before:
            continue
        if not case.company.held_role(giver, case.role, day):
            continue
        key = case.approval_type.key
        refusal = delegation_refusal(delegation, key, amount_cents=case.amount_cents, now=now)
        if refusal is None:
            return
        refusals.append((OUT_OF_FORCE.index(refusal), delegation.id, refusal))
    if not refusals:
        raise ApproverNotEntitledError(f"{person_id} has neither the role {case.role.value} nor a delegation of it.")
    _, delegation_id, closest = max(refusals)
    raise closest(f"Delegation {delegation_id} to {person_id}: {closest.title[0].lower()}{closest.title[1:]}.")


def check_other_approver(request: Request, person_id: str) -> None:
    """Raise ApproverUnchangedError (409) if the person is already the approver."""
    if request.approver_id == person_id:
        raise ApproverUnchangedError(f"{person_id} is already the approver of {request.id}.")


def second_approver(case: Case, now: datetime) -> str | None:
    """Return the id of the second approver, or None.

    Present holders of the role take precedence, then present delegates, then absent holders.
    """
    day = now.date()
    holders = [person.id for person in case.company.holders(case.role, day)]
    delegates = [delegation.to_id for delegation in case.delegations]
    candidates = [*holders, *delegates]
    at_work = [person_id for person_id in candidates if _may_be_asked(case, person_id, now)]
    away = [person_id for person_id in holders if _is_uninvolved(case, person_id)]
    return next(iter([*at_work, *away]), None)


def _may_be_asked(case: Case, person_id: str, now: datetime) -> bool:
    try:
        check_may_be_asked(case, person_id, now)
    except ServiceError:
        return False
    return True


def _is_uninvolved(case: Case, person_id: str) -> bool:
    return person_id != case.requester_id and person_id not in case.approvers_before


def decision_time(company: Company, person_id: str, *, start: datetime, office_minutes: int) -> datetime | None:
    """Return the time of the decision, or None if it is not within a year or the person has left by then."""
    try:
        moment = company.add_office_minutes(start, office_minutes, person_id)
    except ValueError:
        return None
    return moment if company.is_active(person_id, moment.date()) else None


def honest_objection(case: Case, request: Request, now: datetime) -> Verdict | None:
    """Return the rejection by the first violated rule, in a fixed order, or None."""
    if has_conflict(case, request):
        return _rejected(RejectionReason.CONFLICT_OF_INTEREST, "The request concerns the approver.")
    if len(request.justification.strip()) < SHORTEST_JUSTIFICATION:
        return _rejected(RejectionReason.MISSING_JUSTIFICATION, "The justification says too little.")
    old = [spec.name for spec in case.approval_type.fields if is_too_old(spec, request)]
    if old:
        return _rejected(RejectionReason.EVIDENCE_TOO_OLD, f"Too old when it was submitted: {', '.join(old)}.")
    return _beyond_authority(case, request.approver_id, now)


def has_conflict(case: Case, request: Request) -> bool:
    """Return whether the approver is the requester, the subject, a beneficiary or a former approver of the request."""
    beneficiaries = {request.fields.get(spec.name) for spec in case.approval_type.fields if spec.names_beneficiary}
    concerned = {request.requester_id, request.subject, *case.approvers_before, *beneficiaries}
    return request.approver_id in concerned


def is_too_old(spec: FieldSpec, request: Request) -> bool:
    """Return whether a field's evidence was older than its age limit when the request was submitted."""
    if spec.max_age_minutes is None or spec.name not in request.fields:
        return False
    try:
        dated = datetime.fromisoformat(str(request.fields[spec.name]))
    except ValueError:
        return True
    return dated.tzinfo is None or request.submitted_at - dated > timedelta(minutes=spec.max_age_minutes)


def verdict(objection: Verdict | None, turn: Turn) -> Verdict:
    """Return the decision: the objection by the rules, else the planned reaction, else approval."""
    if objection is not None:
        return objection
    reaction = turn.planned
    if reaction is None or reaction.kind is ReactionKind.SLOW:
        return Verdict(DecisionKind.APPROVED, None, "Approved.")
    if reaction.kind is ReactionKind.REJECT:
        return Verdict(DecisionKind.REJECTED, reaction.reason_code, reaction.reason)
    return _question(reaction, turn.times_asked)


def _question(reaction: Reaction, times_asked: int) -> Verdict:
    """Return the question, its repetition, or the rejection after two answers without the requested information."""
    if times_asked >= MAX_TIMES_ASKED:
        return _rejected(RejectionReason.INFORMATION_NOT_PROVIDED, "The answers did not contain what I asked for.")
    again = "Thank you for your answer, but it does not contain what I asked for. " if times_asked else ""
    return Verdict(DecisionKind.INFO_REQUESTED, reaction.reason_code, again + reaction.reason)


def answer_text(answer: str, given: Fields) -> str:
    """Return the stored text of an answer: the written text, then the given fields."""
    written = "; ".join(f"{name}: {value}" for name, value in given.items())
    return "\n\n".join(part for part in (answer.strip(), written) if part)


def no_second_approver() -> Verdict:
    """Return the rejection of a request without an eligible second approver."""
    return _rejected(RejectionReason.NO_APPROVER, "Nobody else may give the second approval.")


def _beyond_authority(case: Case, approver_id: str, now: datetime) -> Verdict | None:
    try:
        check_entitled(case, approver_id, now)
    except ServiceError as problem:
        is_short = isinstance(problem, DelegationLimitTooLowError) or _decides_less(case, approver_id, now)
        reason = RejectionReason.OVER_THE_LIMIT if is_short else RejectionReason.NOT_ENTITLED
        text = "The amount is over the approver's limit." if is_short else "The approver is no longer entitled."
        return _rejected(reason, text)
    return None


def _decides_less(case: Case, approver_id: str, now: datetime) -> bool:
    """Return whether the person holds a role that decides some amount of the type."""
    roles = {threshold.role for threshold in case.approval_type.thresholds}
    return any(case.company.held_role(approver_id, role, now.date()) for role in roles)


def _rejected(reason: RejectionReason, text: str) -> Verdict:
    return Verdict(DecisionKind.REJECTED, reason.value, text)
