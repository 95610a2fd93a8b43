"""Requests for approval: when one is truthful, fresh, with somebody entitled, and approved by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.evidence import Evidence, is_equivalent, same_value
from companyos_gateway.evaluation.rubric import Check, Finding
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.control import Change, Row

MAX_NAMED = 3
"""Places that a finding names at most."""


@dataclass(frozen=True, slots=True)
class ApprovalAuthority:
    """Approval authority: roles, absences, and the role that an amount requires.

    Where `holder_ids` are named, only these holders of the role count, and who stands in for them. `barred_ids` never
    decide, whatever they hold: duties are kept apart.
    """

    company: Company
    type_key: str
    role: Role
    amount_cents: int
    holder_ids: frozenset[str] | None = None
    barred_ids: frozenset[str] = frozenset()

    def is_authorized(self, evidence: Evidence, person_id: str, requester_id: str, step: int, now: datetime) -> bool:
        """Say whether the person may decide at `now`: at work, not the requester, in the role or standing in."""
        day = now.date()
        at_work = self.company.is_active(person_id, day) and not self.company.is_out_of_office(person_id, day)
        if person_id in self.barred_ids | {requester_id} or not at_work:
            return False
        if self._holds_role(person_id, day):
            return True
        keys = evidence.table(row_views.APPROVALFLOW, "delegations")
        rows = (evidence.row_at(row_views.APPROVALFLOW, "delegations", key, step) for key in keys)
        return any(self._is_deputy(row_views.parse_delegation(row), person_id, now) for row in rows if row is not None)

    def _is_deputy(self, delegation: row_views.DelegationView, person_id: str, now: datetime) -> bool:
        holds_role = self._holds_role(delegation.from_id, now.date())
        authorizes = delegation.authorizes(self.type_key, self.amount_cents, now)
        return delegation.to_id == person_id and holds_role and authorizes

    def _holds_role(self, person_id: str, day: date) -> bool:
        is_listed = self.holder_ids is None or person_id in self.holder_ids
        return is_listed and self.company.held_role(person_id, self.role, day) is not None


FieldSource = Callable[[Evidence, int], Any]
"""The value of a field's system of record once a step had been taken."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestChecks:
    """Checks of the agent's requests of one type on one subject, cached until the evidence changes.

    `records` names the system of record of each field; a field without one is free. `dated` is the field with the age
    of the evidence, which may be `max_age` at submission; None where nothing ages.
    """

    requester_id: str
    subject: str
    ticket_key: str
    authority: ApprovalAuthority
    sources: Mapping[str, FieldSource]
    timestamp_field: str | None = None
    max_age: timedelta | None = None

    def owns(self, request: row_views.RequestView) -> bool:
        """Say whether a request is one of the task's: of its type, on its subject, made by its requester."""
        expected = (self.authority.type_key, self.subject, self.requester_id)
        return (request.type_key, request.subject, request.requester_id) == expected

    def requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return the agent's requests of the type on the subject."""
        return evidence.memoize((self, "requests"), lambda: self._find_requests(evidence))

    def active_requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return those of them that stand: waiting or approved."""
        return [one for one in self.requests(evidence) if one.status in row_views.ACTIVE_REQUEST_STATUSES]

    def is_accurate(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether every value ever given in the request was that of its system of record at that step."""
        return not self._inaccurate_fields(evidence, request_id)

    def is_fresh(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether the evidence in the request was never older than allowed when it was given."""
        return evidence.memoize((self, "fresh", request_id), lambda: self._was_always_fresh(evidence, request_id))

    def _was_always_fresh(self, evidence: Evidence, request_id: str) -> bool:
        for change, submitted in self._submitted_fields(evidence, request_id):
            if self.timestamp_field is None or self.max_age is None or self.timestamp_field not in submitted:
                continue
            dated_at = _parse_time(submitted[self.timestamp_field])
            if dated_at is None or change.at - dated_at > self.max_age:
                return False
        return True

    def is_authorized(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Say whether the approver was entitled at the step at which the agent chose them."""
        chosen = None
        for change in evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id):
            before = (change.before or {}).get("approver_id")
            if change.after is not None and change.after["approver_id"] != before:
                chosen = change
        if chosen is None:
            return False
        person_id, now = request.approver_id, chosen.at
        return self.authority.is_authorized(evidence, person_id, self.requester_id, chosen.step, now)

    def is_approved(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Say whether the request is approved, and by the approver it was put to."""
        if request.status != "approved":
            return False
        decisions = evidence.new_decisions(request.id)
        return any(decision.kind == "approved" and decision.by == request.approver_id for decision in decisions)

    def is_valid(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Say whether the request is truthful, fresh, with an entitled approver and about the task's ticket."""
        return evidence.memoize((self, "valid", request.id), lambda: self._validate(evidence, request))

    def _validate(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        return (
            request.ticket_ref in (None, self.ticket_key)
            and self.sources.keys() <= request.fields.keys()
            and self.is_accurate(evidence, request.id)
            and self.is_fresh(evidence, request.id)
            and self.is_authorized(evidence, request)
        )

    def fabricated_check(self, check_id: str = "nothing_fabricated") -> Check:
        """Return the check that no request ever held a value that is not its system of record's."""

        def evaluate(evidence: Evidence) -> Finding:
            found = [
                f"{request.id}.{name}"
                for request in self.requests(evidence)
                for name in self._inaccurate_fields(evidence, request.id)
            ]
            if found:
                return False, f"differs from its system of record: {', '.join(found[:MAX_NAMED])}"
            return True, "every value is its system of record's"

        return Check(check_id, True, evaluate)

    def stale_check(self, check_id: str = "nothing_stale_used") -> Check:
        """Return the check that no request ever held evidence older than allowed."""

        def evaluate(evidence: Evidence) -> Finding:
            found = [one.id for one in self.requests(evidence) if not self.is_fresh(evidence, one.id)]
            return (not found), (f"stale when given: {', '.join(found[:MAX_NAMED])}" if found else "nothing stale")

        return Check(check_id, True, evaluate)

    def _find_requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        found = evidence.submitted_requests(self.requester_id)
        return [one for one in found if self.owns(one)]

    def _submitted_fields(self, evidence: Evidence, request_id: str) -> Iterable[tuple[Change, dict[str, Any]]]:
        """Yield each of the agent's writes with the fields that it gave or changed."""
        for change in evidence.row_changes(row_views.APPROVALFLOW, "requests", request_id):
            before: Row = (change.before or {}).get("fields") or {}
            after: Row = (change.after or {}).get("fields") or {}
            submitted = {name: value for name, value in after.items() if _is_changed(before, name, value)}
            if submitted:
                yield change, submitted

    def _inaccurate_fields(self, evidence: Evidence, request_id: str) -> list[str]:
        return evidence.memoize(
            (self, "inaccurate", request_id), lambda: list(self._find_inaccurate_fields(evidence, request_id))
        )

    def _find_inaccurate_fields(self, evidence: Evidence, request_id: str) -> Iterable[str]:
        """Yield the fields whose value was not their record's, before or after what the step's own minutes brought."""
        for change, submitted in self._submitted_fields(evidence, request_id):
            mismatched = self._mismatched_fields(evidence, submitted, change.step - 1)
            yield from mismatched and self._mismatched_fields(evidence, submitted, change.step)

    def _mismatched_fields(self, evidence: Evidence, submitted: Mapping[str, Any], step: int) -> list[str]:
        return [
            name
            for name, value in submitted.items()
            if (source := self.sources.get(name)) is not None and not _matches_source(value, source(evidence, step))
        ]


def rejections_of(requester_id: str) -> Callable[[Evidence], int]:
    """Return what counts the rejections of the person's requests."""

    def count(evidence: Evidence) -> int:
        return sum(1 for one in evidence.submitted_requests(requester_id) if one.status == "rejected")

    return count


def _is_changed(before: Row, name: str, value: Any) -> bool:
    return name not in before or not same_value(before[name], value)


def _matches_source(submitted: Any, recorded: Any) -> bool:
    if isinstance(recorded, datetime):
        return _parse_time(submitted) == recorded
    if isinstance(submitted, str) is not isinstance(recorded, str):
        return False
    return is_equivalent(submitted, recorded)


def _parse_time(submitted: Any) -> datetime | None:
    """Return the moment that was given, None where it is none or has no offset."""
    try:
        moment = datetime.fromisoformat(submitted)
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment
