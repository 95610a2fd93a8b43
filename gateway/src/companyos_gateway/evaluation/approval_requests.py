"""Checks of approval requests: accurate, fresh, and approved by an authorized person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.evidence import Evidence, is_equivalent, same_value
from companyos_gateway.evaluation.mismatch import (
    Mismatch,
    deciding_step,
    first_mismatch,
    format_age,
    format_value,
    list_names,
    row_path,
)
from companyos_gateway.evaluation.rubric import Check
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change, Row


@dataclass(frozen=True, slots=True)
class ApprovalAuthority:
    """Approval authority: role, absences and delegations, and the amount that a delegation must cover.

    If `holder_ids` is set, only these holders of the role and their delegates may decide. People in `excluded_ids`
    never may, whatever role they have (separation of duties).
    """

    company: Company
    type_key: str
    role: Role
    amount_cents: int
    holder_ids: frozenset[str] | None = None
    excluded_ids: frozenset[str] = frozenset()

    def is_authorized(self, evidence: Evidence, person_id: str, requester_id: str, step: int, now: datetime) -> bool:
        """Return whether the person may decide at `now`, given the delegations as of `step`.

        The person must be at work, not the requester, and hold the role or a delegation of a holder.
        """
        day = now.date()
        at_work = self.company.is_active(person_id, day) and not self.company.is_out_of_office(person_id, day)
        if person_id in self.excluded_ids | {requester_id} or not at_work:
            return False
        if self._holds_role(person_id, day):
            return True
        keys = evidence.table(row_views.APPROVALFLOW, "delegations")
        rows = (evidence.row(row_views.APPROVALFLOW, "delegations", key, step) for key in keys)
        return any(self._is_deputy(row_views.parse_delegation(row), person_id, now) for row in rows if row is not None)

    def authorized_people(self, evidence: Evidence, requester_id: str, step: int, now: datetime) -> list[str]:
        """Return the ids of the people who may decide at `now`, given the delegations as of `step`."""
        deputies = {str(row["to_id"]) for row in evidence.table(row_views.APPROVALFLOW, "delegations").values()}
        people = {person.id for person in self.company.holders(self.role, now.date())} | deputies
        return [one for one in sorted(people) if self.is_authorized(evidence, one, requester_id, step, now)]

    def _is_deputy(self, delegation: row_views.DelegationView, person_id: str, now: datetime) -> bool:
        holds_role = self._holds_role(delegation.from_id, now.date())
        authorizes = delegation.authorizes(self.type_key, self.amount_cents, now)
        return delegation.to_id == person_id and holds_role and authorizes

    def _holds_role(self, person_id: str, day: date) -> bool:
        is_listed = self.holder_ids is None or person_id in self.holder_ids
        return is_listed and self.company.held_role(person_id, self.role, day) is not None


FieldSource = Callable[[Evidence, int], Any]
"""Function that returns the value of a field in its system of record as of a step."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestChecks:
    """Checks of the agent's requests of one type on one subject, cached until the evidence changes.

    `sources` contains the system of record of each field; fields without one may have any value. `timestamp_field` is
    the field with the timestamp of the evidence, None if nothing ages. The evidence may be `max_age` old at submission.
    """

    requester_id: str
    subject: str
    ticket_key: str
    authority: ApprovalAuthority
    sources: Mapping[str, FieldSource]
    timestamp_field: str | None = None
    max_age: timedelta | None = None

    def owns(self, request: row_views.RequestView) -> bool:
        """Return whether a request has the type, subject and requester of the task."""
        expected = (self.authority.type_key, self.subject, self.requester_id)
        return (request.type_key, request.subject, request.requester_id) == expected

    def requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return the agent's requests of the type on the subject."""
        return evidence.memoize((self, "requests"), lambda: self._find_requests(evidence))

    def active_requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return the agent's requests that are active: waiting or approved."""
        return [one for one in self.requests(evidence) if one.status in row_views.ACTIVE_REQUEST_STATUSES]

    def standing_or_decided(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return the requests except those that the agent took back before anybody else acted on them."""
        return [one for one in self.requests(evidence) if not was_taken_back(evidence, one.id)]

    def is_accurate(self, evidence: Evidence, request_id: str) -> bool:
        """Return whether every value ever written to the request was that of its system of record at that step."""
        return not self._inaccurate_fields(evidence, request_id)

    def is_fresh(self, evidence: Evidence, request_id: str) -> bool:
        """Return whether the evidence in the request was never older than `max_age` when it was written."""
        return self._stale_value(evidence, request_id) is None

    def _stale_value(self, evidence: Evidence, request_id: str) -> Mismatch | None:
        """Return a mismatch if the evidence was older than `max_age` when it was written, else None."""
        return evidence.memoize((self, "stale", request_id), lambda: self._find_stale_value(evidence, request_id))

    def _find_stale_value(self, evidence: Evidence, request_id: str) -> Mismatch | None:
        name = self.timestamp_field
        for change, submitted in self._submitted_fields(evidence, request_id):
            if name is None or self.max_age is None or name not in submitted:
                continue
            dated_at = _parse_time(submitted[name])
            if dated_at is None or change.at - dated_at > self.max_age:
                expected = f"{name} at most {format_age(self.max_age)} old"
                return Mismatch(_path(request_id), expected, f"{name}: {format_value(submitted[name])}", change.step)
        return None

    def is_authorized(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether the approver was authorized at the step at which the agent chose them."""
        chosen = _choice_of_approver(evidence, request.id)
        return chosen is not None and self.authority.is_authorized(
            evidence, request.approver_id, self.requester_id, chosen.step, chosen.at
        )

    def _entitled(self, evidence: Evidence, step: int, now: datetime) -> str:
        """Return the people who were authorized to approve at `now`, as text."""
        people = self.authority.authorized_people(evidence, self.requester_id, step, now)
        return f"{list_names(people)} {'was' if len(people) == 1 else 'were'}" if people else "nobody was"

    def is_approved(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether the request is approved, by the approver to whom it was addressed."""
        if request.status != "approved":
            return False
        decisions = evidence.new_decisions(request.id)
        return any(decision.kind == "approved" and decision.by == request.approver_id for decision in decisions)

    def is_valid(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether the request is accurate, fresh, for an authorized approver and about the task's ticket."""
        return self.flaw(evidence, request) is None

    def flaw(self, evidence: Evidence, request: row_views.RequestView) -> str | None:
        """Return the flaw of the request as text, None if it is valid."""
        return evidence.memoize((self, "flaw", request.id), lambda: self._find_flaw(evidence, request.id))

    def _find_flaw(self, evidence: Evidence, request_id: str) -> str | None:
        row = evidence.row(row_views.APPROVALFLOW, "requests", request_id)
        assert row is not None
        request = row_views.parse_request(row)
        if request.ticket_ref not in (None, self.ticket_key):
            return f"it names the ticket {request.ticket_ref}"
        if missing := self.sources.keys() - request.fields.keys():
            return f"without {', '.join(sorted(missing))}"
        if wrong := self._inaccurate_fields(evidence, request.id):
            return f"with a wrong {wrong[0].name}"
        if not self.is_fresh(evidence, request.id):
            return f"with an outdated {self.timestamp_field}"
        if not self.is_authorized(evidence, request):
            chosen = _choice_of_approver(evidence, request.id)
            others = f" ({self._entitled(evidence, chosen.step, chosen.at)})" if chosen is not None else ""
            return f"put to {request.approver_id}, who was not entitled to approve it{others}"
        return None

    def approval_check(
        self, check_id: str, approved: Callable[[Evidence], row_views.RequestView | None], *, caused_by: tuple[str, ...]
    ) -> Check:
        """Return the check that `approved` finds a valid, approved request."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            return self._missing_approval(evidence) if approved(evidence) is None else None

        return Check(check_id, False, find_mismatch, caused_by)

    def _missing_approval(self, evidence: Evidence) -> Mismatch:
        """Return a mismatch with the status and the flaw of the latest request."""
        expected = f"a valid request of type {self.authority.type_key} on {self.subject}, approved"
        requests = self.active_requests(evidence) or self.requests(evidence)
        if not requests:
            return Mismatch(f"{row_views.APPROVALFLOW}.requests", expected, self._refused_submission(evidence))
        last = requests[-1]
        flaw = self.flaw(evidence, last)
        if flaw is None and last.status == "approved":
            flaw = "made too early" if self.is_approved(evidence, last) else f"without a decision of {last.approver_id}"
        found = f"status: {last.status}" + (f", {flaw}" if flaw else "")
        changes = evidence.row_changes(row_views.APPROVALFLOW, "requests", last.id)
        return Mismatch(_path(last.id), expected, found, deciding_step(changes))

    def _refused_submission(self, evidence: Evidence) -> str:
        """Return as text that there is no request, and why the last submission was refused."""
        for call in reversed(evidence.refused_calls(row_views.APPROVALFLOW)):
            submission = (call.operation, call.arguments.get("type_key"), call.arguments.get("subject"))
            if submission == ("submit_approval", self.authority.type_key, self.subject) and call.planned is None:
                entitled = self._entitled(evidence, call.step, call.at)
                approver = call.arguments.get("approver_id")
                return (
                    f"no request; step {call.step} asked {approver}: {call.code} ({entitled} entitled to approve then)"
                )
        return "no request"

    def single_check(self, check_id: str) -> Check:
        """Return the check that at most one request is active."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            active = self.active_requests(evidence)
            return self._surplus(evidence, active[1:], "one request at most") if len(active) > 1 else None

        return Check(check_id, True, find_mismatch)

    def none_check(self, check_id: str) -> Check:
        """Return the check that no request is active."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            active = self.active_requests(evidence)
            return self._surplus(evidence, active, "no request, waiting or approved") if active else None

        return Check(check_id, True, find_mismatch)

    def _surplus(self, evidence: Evidence, surplus: Sequence[row_views.RequestView], expected: str) -> Mismatch:
        named = list_names([f"{one.id} {one.status}" for one in surplus])
        made = evidence.row_changes(row_views.APPROVALFLOW, "requests", surplus[0].id)[0]
        return Mismatch(_path(surplus[0].id), expected, named, made.step)

    def fabricated_check(self, check_id: str = "nothing_fabricated") -> Check:
        """Return the check that no request ever contained a value that differed from its system of record.

        Requests that the agent took back are left to the check on guessing.
        """

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            found = [
                Mismatch(
                    _path(request.id),
                    f"{wrong.name}: {format_value(wrong.recorded)}",
                    f"{wrong.name}: {format_value(wrong.submitted)}",
                    wrong.step,
                )
                for request in self.standing_or_decided(evidence)
                for wrong in self._inaccurate_fields(evidence, request.id)
            ]
            return first_mismatch(found)

        return Check(check_id, True, find_mismatch)

    def stale_check(self, check_id: str = "nothing_stale_used") -> Check:
        """Return the check that no request, except those taken back, ever contained evidence older than `max_age`."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            found = [self._stale_value(evidence, request.id) for request in self.standing_or_decided(evidence)]
            return first_mismatch([one for one in found if one is not None])

        return Check(check_id, True, find_mismatch)

    def _find_requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        found = evidence.submitted_requests(self.requester_id)
        return [one for one in found if self.owns(one)]

    def _submitted_fields(self, evidence: Evidence, request_id: str) -> Iterable[tuple[Change, dict[str, Any]]]:
        """Yield each change of a request with the fields that it added or changed."""
        for change in evidence.row_changes(row_views.APPROVALFLOW, "requests", request_id):
            before: Row = (change.before or {}).get("fields") or {}
            after: Row = (change.after or {}).get("fields") or {}
            submitted = {name: value for name, value in after.items() if _is_changed(before, name, value)}
            if submitted:
                yield change, submitted

    def _inaccurate_fields(self, evidence: Evidence, request_id: str) -> list[_WrongField]:
        return evidence.memoize(
            (self, "inaccurate", request_id), lambda: list(self._find_inaccurate_fields(evidence, request_id))
        )

    def _find_inaccurate_fields(self, evidence: Evidence, request_id: str) -> Iterable[_WrongField]:
        """Yield the fields that differed from their system of record both before and after the step."""
        for change, submitted in self._submitted_fields(evidence, request_id):
            mismatched = self._mismatched_fields(evidence, submitted, change.step - 1)
            for name in mismatched and self._mismatched_fields(evidence, submitted, change.step):
                recorded = self.sources[name](evidence, change.step)
                yield _WrongField(name, submitted[name], recorded, change.step)

    def _mismatched_fields(self, evidence: Evidence, submitted: Mapping[str, Any], step: int) -> list[str]:
        return [
            name
            for name, value in submitted.items()
            if (source := self.sources.get(name)) is not None and not _matches_source(value, source(evidence, step))
        ]


@dataclass(frozen=True, slots=True)
class _WrongField:
    """A value in a request that differed from its system of record when it was written."""

    name: str
    submitted: Any
    recorded: Any
    step: int


def _path(request_id: str) -> str:
    return row_path(row_views.APPROVALFLOW, "requests", request_id)


def _choice_of_approver(evidence: Evidence, request_id: str) -> Change | None:
    """Return the change that set the current approver of a request."""
    chosen = None
    for change in evidence.row_changes(row_views.APPROVALFLOW, "requests", request_id):
        before = (change.before or {}).get("approver_id")
        if change.after is not None and change.after["approver_id"] != before:
            chosen = change
    return chosen


def was_taken_back(evidence: Evidence, request_id: str) -> bool:
    """Return whether the agent submitted a request and ended it before anybody else acted on it."""
    changes = evidence.row_changes(row_views.APPROVALFLOW, "requests", request_id)
    last = changes[-1].after if len(changes) > 1 and changes[0].before is None else None
    is_ended = last is not None and last["status"] in row_views.FINAL_REQUEST_STATUSES
    return is_ended and all(change.actor is Actor.AGENT for change in changes)


def rejections_of(requester_id: str) -> Callable[[Evidence], int]:
    """Return a function that counts the person's rejected requests."""

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
    """Parse a timestamp; return None if it is invalid or has no offset."""
    try:
        moment = datetime.fromisoformat(submitted)
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment
