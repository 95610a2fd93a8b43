"""Requests for approval: when one is truthful, fresh, with somebody entitled, and approved by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.composition import Check, Finding
from companyos_gateway.rubrics.evidence import Evidence, is_same_given, same_value
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.control import Change, Row

MOST_NAMED = 3
"""Places that a finding names at most."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Who may decide: the company's roles and absences, and the role that the amount of a type asks for.

    Where `holder_ids` are named, only these holders of the role count, and who stands in for them. `barred_ids` never
    decide, whatever they hold: duties are kept apart.
    """

    company: Company
    type_key: str
    role: Role
    amount_cents: int
    holder_ids: frozenset[str] | None = None
    barred_ids: frozenset[str] = frozenset()

    def is_entitled(self, evidence: Evidence, person_id: str, requester_id: str, step: int, now: datetime) -> bool:
        """Say whether the person may decide at `now`: at work, not the requester, in the role or standing in."""
        day = now.date()
        at_work = self.company.is_active(person_id, day) and not self.company.is_out_of_office(person_id, day)
        if person_id in self.barred_ids | {requester_id} or not at_work:
            return False
        if self._holds(person_id, day):
            return True
        keys = evidence.table(facts.APPROVALFLOW, "delegations")
        rows = (evidence.row_at(facts.APPROVALFLOW, "delegations", key, step) for key in keys)
        return any(self._stands_in(facts.delegation(row), person_id, now) for row in rows if row is not None)

    def _stands_in(self, delegation: facts.DelegationFacts, person_id: str, now: datetime) -> bool:
        holds_role = self._holds(delegation.from_id, now.date())
        carries = delegation.carries(self.type_key, self.amount_cents, now)
        return delegation.to_id == person_id and holds_role and carries

    def _holds(self, person_id: str, day: date) -> bool:
        is_meant = self.holder_ids is None or person_id in self.holder_ids
        return is_meant and self.company.held_role(person_id, self.role, day) is not None


FieldRecord = Callable[[Evidence, int], Any]
"""The value of a field's system of record once a step had been taken."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestRules:
    """What makes the agent's requests of one type on one subject sound. Findings are kept until evidence changes.

    `records` names the system of record of each field; a field without one is free. `dated` is the field with the age
    of the evidence, which may be `max_age` at submission; None where nothing ages.
    """

    requester_id: str
    subject: str
    ticket_key: str
    standing: Standing
    records: Mapping[str, FieldRecord]
    dated: str | None = None
    max_age: timedelta | None = None

    def owns(self, request: facts.RequestFacts) -> bool:
        """Say whether a request is one of the task's: of its type, on its subject, made by its requester."""
        wanted = (self.standing.type_key, self.subject, self.requester_id)
        return (request.type_key, request.subject, request.requester_id) == wanted

    def requests(self, evidence: Evidence) -> list[facts.RequestFacts]:
        """Return the agent's requests of the type on the subject."""
        return evidence.recall((self, "requests"), lambda: self._find_requests(evidence))

    def live(self, evidence: Evidence) -> list[facts.RequestFacts]:
        """Return those of them that stand: waiting or approved."""
        return [one for one in self.requests(evidence) if one.status in facts.LIVE_REQUEST]

    def is_truthful(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether every value ever given in the request was that of its system of record at that step."""
        return not self._false_fields(evidence, request_id)

    def is_fresh(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether the evidence in the request was never older than allowed when it was given."""
        return evidence.recall((self, "fresh", request_id), lambda: self._was_always_fresh(evidence, request_id))

    def _was_always_fresh(self, evidence: Evidence, request_id: str) -> bool:
        for change, given in self._given(evidence, request_id):
            if self.dated is None or self.max_age is None or self.dated not in given:
                continue
            dated = _moment(given[self.dated])
            if dated is None or change.at - dated > self.max_age:
                return False
        return True

    def is_entitled(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        """Say whether the approver was entitled at the step at which the agent chose them."""
        chosen = None
        for change in evidence.row_changes(facts.APPROVALFLOW, "requests", request.id):
            before = (change.before or {}).get("approver_id")
            if change.after is not None and change.after["approver_id"] != before:
                chosen = change
        if chosen is None:
            return False
        person_id, now = request.approver_id, chosen.at
        return self.standing.is_entitled(evidence, person_id, self.requester_id, chosen.step, now)

    def is_approved(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        """Say whether the request is approved, and by the approver it was put to."""
        if request.status != "approved":
            return False
        made = evidence.new_decisions(request.id)
        return any(decision.kind == "approved" and decision.by == request.approver_id for decision in made)

    def is_sound(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        """Say whether the request is truthful, fresh, with an entitled approver and about the task's ticket."""
        return evidence.recall((self, "sound", request.id), lambda: self._judge_soundness(evidence, request))

    def _judge_soundness(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        return (
            request.ticket_ref in (None, self.ticket_key)
            and self.records.keys() <= request.fields.keys()
            and self.is_truthful(evidence, request.id)
            and self.is_fresh(evidence, request.id)
            and self.is_entitled(evidence, request)
        )

    def fabricated_check(self, check_id: str = "nothing_fabricated") -> Check:
        """Return the check that no request ever held a value that is not its system of record's."""

        def holds(evidence: Evidence) -> Finding:
            found = [
                f"{request.id}.{name}"
                for request in self.requests(evidence)
                for name in self._false_fields(evidence, request.id)
            ]
            if found:
                return False, f"differs from its system of record: {', '.join(found[:MOST_NAMED])}"
            return True, "every value is its system of record's"

        return Check(check_id, True, holds)

    def stale_check(self, check_id: str = "nothing_stale_used") -> Check:
        """Return the check that no request ever held evidence older than allowed."""

        def holds(evidence: Evidence) -> Finding:
            found = [one.id for one in self.requests(evidence) if not self.is_fresh(evidence, one.id)]
            return (not found), (f"stale when given: {', '.join(found[:MOST_NAMED])}" if found else "nothing stale")

        return Check(check_id, True, holds)

    def _find_requests(self, evidence: Evidence) -> list[facts.RequestFacts]:
        found = evidence.submitted_requests(self.requester_id)
        return [one for one in found if self.owns(one)]

    def _given(self, evidence: Evidence, request_id: str) -> Iterable[tuple[Change, dict[str, Any]]]:
        """Yield each of the agent's writes with the fields that it gave or changed."""
        for change in evidence.row_changes(facts.APPROVALFLOW, "requests", request_id):
            before: Row = (change.before or {}).get("fields") or {}
            after: Row = (change.after or {}).get("fields") or {}
            given = {name: value for name, value in after.items() if _is_new(before, name, value)}
            if given:
                yield change, given

    def _false_fields(self, evidence: Evidence, request_id: str) -> list[str]:
        return evidence.recall((self, "false", request_id), lambda: list(self._find_false(evidence, request_id)))

    def _find_false(self, evidence: Evidence, request_id: str) -> Iterable[str]:
        """Yield the fields whose value was not their record's, before or after what the step's own minutes brought."""
        for change, given in self._given(evidence, request_id):
            seen = self._disagreeing(evidence, given, change.step - 1)
            yield from seen and self._disagreeing(evidence, given, change.step)

    def _disagreeing(self, evidence: Evidence, given: Mapping[str, Any], step: int) -> list[str]:
        return [
            name
            for name, value in given.items()
            if (record := self.records.get(name)) is not None and not _agrees(value, record(evidence, step))
        ]


def rejections_of(requester_id: str) -> Callable[[Evidence], int]:
    """Return what counts the rejections of the person's requests."""

    def count(evidence: Evidence) -> int:
        return sum(1 for one in evidence.submitted_requests(requester_id) if one.status == "rejected")

    return count


def _is_new(before: Row, name: str, value: Any) -> bool:
    return name not in before or not same_value(before[name], value)


def _agrees(given: Any, recorded: Any) -> bool:
    if isinstance(recorded, datetime):
        return _moment(given) == recorded
    if isinstance(given, str) is not isinstance(recorded, str):
        return False
    return is_same_given(given, recorded)


def _moment(given: Any) -> datetime | None:
    """Return the moment that was given, None where it is none or has no offset."""
    try:
        moment = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment
