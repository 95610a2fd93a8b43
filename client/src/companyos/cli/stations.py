"""The five stations of a vendor onboarding, recognised in what an agent sees and does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from companyos.policies import StepView


class Station(Enum):
    """What stands in the way, in the order in which a person meets it."""

    PRIORITY = "missing priority"
    VERIFICATION = "unverified ticket"
    SCORE = "expired compliance score"
    APPROVER = "approver out of office, with a delegate"
    DECISION = "approval decided"

    @property
    def number(self) -> int:
        """The place of the station in the story, from 1."""
        return list(Station).index(self) + 1


@dataclass(frozen=True)
class Sign:
    """A station that is met, or passed, in a step."""

    station: Station
    is_passed: bool
    fact: str


@dataclass
class Story:
    """Where the story of one ticket stands; `read` is given each step in turn and says what it brought."""

    ticket: str
    met: set[Station] = field(default_factory=set)
    passed: set[Station] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _away: set[str] = field(default_factory=set)
    _delegates: set[str] = field(default_factory=set)
    _stale: set[str] = field(default_factory=set)

    def read(self, tool: str, step: StepView) -> list[Sign]:
        """Return the stations that this step meets or passes for the first time."""
        if step.is_refused:
            return []
        signs = []
        for sign in self._signs(tool, step.result):
            seen = self.passed if sign.is_passed else self.met
            if sign.station not in seen and (not sign.is_passed or sign.station in self.met):
                seen.add(sign.station)
                signs.append(sign)
        return signs

    @property
    def is_complete(self) -> bool:
        """Whether every station was met and passed."""
        return self.passed == set(Station)

    def _signs(self, tool: str, result: Any) -> Iterator[Sign]:
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
                self._delegates |= {each["to_id"] for each in delegations if each["from_id"] in self._away}
            case "approvalflow_submit_approval" | "approvalflow_get_approval", {"id": str(), "status": str(status)}:
                yield from self._approval(status, result)

    def _ticket(self, priority: str | None, verified: bool) -> Iterator[Sign]:
        if priority is None:
            yield Sign(Station.PRIORITY, False, f"{self.ticket} has no priority")
        else:
            yield Sign(Station.PRIORITY, True, f"{self.ticket} has priority {priority}")
        if verified:
            yield Sign(Station.VERIFICATION, True, f"{self.ticket} is verified")
        else:
            yield Sign(Station.VERIFICATION, False, f"{self.ticket} is not verified")

    def _reading(self, metric: str, reading: dict[str, Any]) -> Iterator[Sign]:
        name, value, as_of = metric.replace("_", " "), reading["value"], reading["as_of"][:10]
        if reading["is_stale"]:
            self._stale.add(reading["metric_id"])
            yield Sign(Station.SCORE, False, f"{name} {value:g} is of {as_of}, too old to be used")
        elif reading["metric_id"] in self._stale:
            yield Sign(Station.SCORE, True, f"{name} is {value:g}, as of {as_of}")

    def _holder(self, role: str, holder: dict[str, Any]) -> Iterator[Sign]:
        person, deputy = holder["person"], holder["deputy"]
        self._names |= {known["id"]: known["name"] for known in (person, deputy) if known is not None}
        if not holder["out_of_office"]:
            return
        self._away.add(person["id"])
        if deputy is not None and not holder["deputy_out_of_office"]:
            self._delegates.add(deputy["id"])
        back = f", back on {holder['back_on']}" if holder["back_on"] else ""
        yield Sign(Station.APPROVER, False, f"{role.upper()} {person['name']} is out of office{back}")

    def _approval(self, status: str, approval: dict[str, Any]) -> Iterator[Sign]:
        approver = approval["approver_id"]
        if approver in self._delegates:
            name = self._names.get(approver, approver)
            yield Sign(Station.APPROVER, True, f"{approval['id']} goes to the delegate, {name}")
        if status == "approved":
            yield Sign(Station.DECISION, True, f"{approval['id']} is approved")
        elif status == "pending":
            yield Sign(Station.DECISION, False, f"{approval['id']} waits for a decision")
