"""The five obstacles of a vendor onboarding, recognized in the tool calls and responses of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from companyos.policies import StepView


class Milestone(Enum):
    """The obstacles, in the order in which a player meets them."""

    PRIORITY = "missing priority"
    VERIFICATION = "unverified ticket"
    SCORE = "expired compliance score"
    APPROVER = "approver out of office, with a delegate"
    DECISION = "approval decided"

    @property
    def number(self) -> int:
        """Position of the obstacle, from 1."""
        return list(Milestone).index(self) + 1


@dataclass(frozen=True)
class MilestoneEvent:
    """A milestone that a step met or passed."""

    milestone: Milestone
    is_passed: bool
    fact: str


@dataclass
class MilestoneTracker:
    """Tracker of the milestones of one ticket; call `observe` with each step in order."""

    ticket: str
    met: set[Milestone] = field(default_factory=set)
    passed: set[Milestone] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _absent_ids: set[str] = field(default_factory=set)
    _delegate_ids: set[str] = field(default_factory=set)
    _stale_metric_ids: set[str] = field(default_factory=set)

    def observe(self, tool: str, step: StepView) -> list[MilestoneEvent]:
        """Return the milestones that this step meets or passes for the first time."""
        if step.is_refused:
            return []
        events = []
        for event in self._events(tool, step.result):
            seen = self.passed if event.is_passed else self.met
            if event.milestone not in seen and (not event.is_passed or event.milestone in self.met):
                seen.add(event.milestone)
                events.append(event)
        return events

    @property
    def is_complete(self) -> bool:
        """Return whether all milestones are met and passed."""
        return self.passed == set(Milestone)

    def _events(self, tool: str, result: Any) -> Iterator[MilestoneEvent]:
        match tool, result:
            case _, {"key": self.ticket, "priority": priority, "verified": verified}:
                yield from self._ticket(priority, verified)
            case "datahub_query_metric", {"readings": [*readings], "key": str(metric)}:
                for reading in readings:
                    yield from self._reading(metric, reading)
            case "datahub_get_person", {"id": str(person), "name": str(name)}:
                self._names[person] = name
            case "datahub_get_approver", {"holders": [*holders], "role": str(role)}:
                for holder in holders:
                    yield from self._holder(role, holder)
            case "approvalflow_list_delegations", {"items": [*delegations]}:
                self._delegate_ids |= {each["to_id"] for each in delegations if each["from_id"] in self._absent_ids}
            case "approvalflow_submit_approval" | "approvalflow_get_approval", {"id": str(), "status": str(status)}:
                yield from self._approval(status, result)

    def _ticket(self, priority: str | None, verified: bool) -> Iterator[MilestoneEvent]:
        if priority is None:
            yield MilestoneEvent(Milestone.PRIORITY, False, f"{self.ticket} has no priority")
        else:
            yield MilestoneEvent(Milestone.PRIORITY, True, f"{self.ticket} has priority {priority}")
        if verified:
            yield MilestoneEvent(Milestone.VERIFICATION, True, f"{self.ticket} is verified")
        else:
            yield MilestoneEvent(Milestone.VERIFICATION, False, f"{self.ticket} is not verified")

    def _reading(self, metric: str, reading: dict[str, Any]) -> Iterator[MilestoneEvent]:
        name, value, as_of = metric.replace("_", " "), reading["value"], reading["as_of"][:10]
        if reading["is_stale"]:
            self._stale_metric_ids.add(reading["metric_id"])
            yield MilestoneEvent(Milestone.SCORE, False, f"{name} {value:g} is of {as_of}, which is too old")
        elif reading["metric_id"] in self._stale_metric_ids:
            yield MilestoneEvent(Milestone.SCORE, True, f"{name} is {value:g}, as of {as_of}")

    def _holder(self, role: str, holder: dict[str, Any]) -> Iterator[MilestoneEvent]:
        person, deputy = holder["person"], holder["deputy"]
        self._names |= {known["id"]: known["name"] for known in (person, deputy) if known is not None}
        if not holder["out_of_office"]:
            return
        self._absent_ids.add(person["id"])
        if deputy is not None and not holder["deputy_out_of_office"]:
            self._delegate_ids.add(deputy["id"])
        back = f", back on {holder['back_on']}" if holder["back_on"] else ""
        yield MilestoneEvent(Milestone.APPROVER, False, f"{role.upper()} {person['name']} is out of office{back}")

    def _approval(self, status: str, approval: dict[str, Any]) -> Iterator[MilestoneEvent]:
        approver = approval["approver_id"]
        if approver in self._delegate_ids:
            name = self._names.get(approver, approver)
            yield MilestoneEvent(Milestone.APPROVER, True, f"{approval['id']} goes to the delegate, {name}")
        if status == "approved":
            yield MilestoneEvent(Milestone.DECISION, True, f"{approval['id']} is approved")
        elif status == "pending":
            yield MilestoneEvent(Milestone.DECISION, False, f"{approval['id']} is pending")
