"""Ends that a task brings several entities to: all of these, each in its right way, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, added_with, changed_keys
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.composition import Check, Finding, Milestone
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.records import RecordGoal
from companyos_gateway.rubrics.requests import Standing
from companyos_gateway.rubrics.ticket_goals import TicketGoal, TicketGoals
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change

DESK, HUB, FLOW = facts.TICKETDESK, facts.DATAHUB, facts.APPROVALFLOW
MOST_NAMED = 3
"""Entities that a finding names at most."""


class End(Protocol):
    """The end of one entity."""

    @property
    def place(self) -> str:
        """The entity, as findings and damage name it."""
        ...

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the entity has come to its end, now or once a step had been taken."""
        ...

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the entity may change on the way."""
        ...

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the entity was brought to another end for good."""
        ...


@dataclass(frozen=True)
class RequestCancelled:
    """Somebody's open request is cancelled for a typed reason."""

    request_id: str
    reason: Refusal

    @property
    def place(self) -> str:
        """The request."""
        return f"{FLOW}.requests[{self.request_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the request is cancelled for the reason."""
        request = _request(evidence, self.request_id, step)
        if request is None or request.status != "cancelled":
            return False
        return self.reason.is_given(request.reason_code, request.reason_ref)

    def allowances(self) -> Iterable[Allowance]:
        """Return the end itself, and notes."""
        columns = frozenset({"status", "reason_code", "reason_ref"})
        yield Allowance(FLOW, "requests", changed_keys([self.request_id]), columns)
        yield Allowance(FLOW, "notes", added_with("request_id", [self.request_id]))

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the request was ended for another reason."""
        return _is_ended(evidence, self.request_id) and not self.is_met(evidence)


@dataclass(frozen=True)
class RequestWithdrawn:
    """The agent's own open request, made before the episode, is taken back."""

    request_id: str

    @property
    def place(self) -> str:
        """The request."""
        return f"{FLOW}.requests[{self.request_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the request is withdrawn."""
        request = _request(evidence, self.request_id, step)
        return request is not None and request.status == "withdrawn"

    def allowances(self) -> Iterable[Allowance]:
        """Return the end itself, and notes."""
        yield Allowance(FLOW, "requests", changed_keys([self.request_id]), frozenset({"status"}))
        yield Allowance(FLOW, "notes", added_with("request_id", [self.request_id]))

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the request was cancelled instead."""
        return _is_ended(evidence, self.request_id) and not self.is_met(evidence)


@dataclass(frozen=True)
class RequestEscalated:
    """Somebody's open request is put to a person who may decide it, for the fact behind it."""

    request_id: str
    standing: Standing
    references: tuple[str, ...]

    @property
    def place(self) -> str:
        """The request."""
        return f"{FLOW}.requests[{self.request_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the agent's last escalation went to somebody entitled at that step, and nobody ended it since."""
        request, change = _request(evidence, self.request_id, step), self._last(evidence, step)
        if request is None or change is None or change.after is None or request.status in facts.FINAL_REQUEST:
            return False
        chosen = facts.request(change.after)
        is_entitled = self.standing.is_entitled(
            evidence, chosen.approver_id, chosen.requester_id, change.step, change.at
        )
        return is_entitled and self._is_reason_given(evidence, change.step)

    def allowances(self) -> Iterable[Allowance]:
        """Return the escalation with what is decided after it, and notes."""
        columns = frozenset({"status", "approver_id", "decided_at"})
        yield Allowance(FLOW, "requests", changed_keys([self.request_id]), columns)
        yield Allowance(FLOW, "decisions", added_with("request_id", [self.request_id]))
        yield Allowance(FLOW, "notes", added_with("request_id", [self.request_id]))

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the request was ended instead."""
        return _is_ended(evidence, self.request_id)

    def _last(self, evidence: Evidence, step: int | None) -> Change | None:
        """Return the agent's last change of the approver."""
        found = None
        for change in evidence.row_changes(FLOW, "requests", self.request_id):
            if step is not None and change.step > step:
                break
            before = (change.before or {}).get("approver_id")
            if change.actor is Actor.AGENT and change.after is not None and change.after["approver_id"] != before:
                found = change
        return found

    def _is_reason_given(self, evidence: Evidence, step: int) -> bool:
        for key in evidence.changed_keys(FLOW, "decisions"):
            row, made = evidence.row(FLOW, "decisions", key), evidence.row_changes(FLOW, "decisions", key)[0]
            if row is None or made.step != step:
                continue
            decision = facts.decision(row)
            if decision.request_id == self.request_id and decision.reason_ref in self.references:
                return True
        return False


@dataclass(frozen=True)
class DelegationRevoked:
    """A delegation is taken away."""

    delegation_id: str

    @property
    def place(self) -> str:
        """The delegation."""
        return f"{FLOW}.delegations[{self.delegation_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the delegation is revoked."""
        row = evidence.row(FLOW, "delegations", self.delegation_id)
        row = row if step is None else evidence.row_at(FLOW, "delegations", self.delegation_id, step)
        return row is not None and facts.delegation(row).revoked_at is not None

    def allowances(self) -> Iterable[Allowance]:
        """Return the revocation."""
        yield Allowance(FLOW, "delegations", changed_keys([self.delegation_id]), frozenset({"revoked_at"}))

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say that there is no other end of a delegation."""
        return False


@dataclass(frozen=True)
class RecordEnded:
    """A record is as it must be, without anybody's approval."""

    goal: RecordGoal

    @property
    def place(self) -> str:
        """The record."""
        return f"{HUB}.records[{self.goal.record_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the record is so."""
        return self.goal.is_met(evidence, None, step=step)

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the record may change."""
        yield self.goal.allowance()

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say that a record can be changed again."""
        return False


@dataclass(frozen=True)
class TicketEnded:
    """A ticket is as it must be."""

    goal: TicketGoal

    @property
    def place(self) -> str:
        """The ticket."""
        return f"{DESK}.tickets[{self.goal.key}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the ticket is so."""
        return self.goal.is_met(evidence, step=step)

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the ticket may change."""
        yield from TicketGoals([self.goal]).allowances()

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the ticket was closed or cancelled where it must not be."""
        return bool(list(TicketGoals([self.goal]).damage(evidence)))


class Ends:
    """Ends of one kind; the name is the check's."""

    def __init__(self, name: str, ends: Sequence[End]) -> None:
        self.name = name
        self.ends = tuple(ends)

    def are_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether every entity has come to its end, now or once a step had been taken."""
        return all(end.is_met(evidence, step=step) for end in self.ends)

    def check(self) -> Check:
        """Return the check that every entity has come to its end."""

        def finding(evidence: Evidence) -> Finding:
            open_ = [end.place for end in self.ends if not end.is_met(evidence)]
            return (not open_), (f"not so: {', '.join(open_[:MOST_NAMED])}" if open_ else "so for every one")

        return Check(self.name, False, finding)

    def milestones(self, points: float) -> Iterable[Milestone]:
        """Return a milestone for each entity that pays the points."""
        for number, end in enumerate(self.ends, start=1):
            yield Milestone(f"{self.name}_{number}", points, _is_met(end))

    def allowances(self) -> Iterable[Allowance]:
        """Return what may change on the way."""
        for end in self.ends:
            yield from end.allowances()

    def damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the entities that were brought to another end for good."""
        return [end.place for end in self.ends if end.is_spoilt(evidence)]


def _is_met(end: End) -> Callable[[Evidence], bool]:
    return lambda evidence: end.is_met(evidence)


def _request(evidence: Evidence, request_id: str, step: int | None) -> facts.RequestFacts | None:
    row = evidence.row(FLOW, "requests", request_id)
    row = row if step is None else evidence.row_at(FLOW, "requests", request_id, step)
    return None if row is None else facts.request(row)


def _is_ended(evidence: Evidence, request_id: str) -> bool:
    request = _request(evidence, request_id, None)
    return request is not None and request.status in facts.FINAL_REQUEST
