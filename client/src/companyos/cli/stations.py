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
    """Where the story stands; `read` is given each step in turn and says what it brought."""

    met: set[Station] = field(default_factory=set)
    passed: set[Station] = field(default_factory=set)
    _stale: set[str] = field(default_factory=set)
    _deputies: dict[str, str] = field(default_factory=dict)

    def read(self, tool: str, arguments: dict[str, Any], step: StepView) -> list[Sign]:
        """Return the stations that this step meets or passes for the first time."""
        if step.is_refused:
            return []
        signs = []
        for sign in self._signs(tool, arguments, step.result):
            seen = self.passed if sign.is_passed else self.met
            if sign.station not in seen and (not sign.is_passed or sign.station in self.met):
                seen.add(sign.station)
                signs.append(sign)
        return signs

    @property
    def is_complete(self) -> bool:
        """Whether every station was met and passed."""
        return self.passed == set(Station)

    def _signs(self, tool: str, arguments: dict[str, Any], result: Any) -> Iterator[Sign]:
        match tool, result:
            case "ticketdesk_get_ticket" | "ticketdesk_update_ticket" | "ticketdesk_verify_ticket", {"key": str(key)}:
                yield from self._ticket(key, result)
            case "datahub_query_metric", {"readings": [*readings], "key": str(metric)}:
                for reading in readings:
                    yield from self._reading(metric, reading)
            case "datahub_get_approver", {"holders": [*holders], "role": str(role)}:
                for holder in holders:
                    yield from self._holder(role, holder)
            case "approvalflow_submit_approval" | "approvalflow_get_approval", {"id": str(), "status": str(status)}:
                yield from self._approval(status, result)

    def _ticket(self, key: str, ticket: dict[str, Any]) -> Iterator[Sign]:
        priority, verified = ticket.get("priority"), ticket.get("verified")
        if priority is None:
            yield Sign(Station.PRIORITY, False, f"{key} has no priority")
        else:
            yield Sign(Station.PRIORITY, True, f"{key} has priority {priority}")
        if verified:
            yield Sign(Station.VERIFICATION, True, f"{key} is verified")
        else:
            yield Sign(Station.VERIFICATION, False, f"{key} is not verified")

    def _reading(self, metric: str, reading: dict[str, Any]) -> Iterator[Sign]:
        name, value, as_of = metric.replace("_", " "), reading.get("value"), str(reading.get("as_of"))[:10]
        if reading.get("is_stale"):
            self._stale.add(str(reading.get("metric_id")))
            yield Sign(Station.SCORE, False, f"{name} {value:g} is of {as_of}, too old to be used")
        elif reading.get("metric_id") in self._stale:
            yield Sign(Station.SCORE, True, f"{name} is {value:g}, as of {as_of}")

    def _holder(self, role: str, holder: dict[str, Any]) -> Iterator[Sign]:
        deputy = holder.get("deputy")
        if not holder.get("out_of_office") or deputy is None or holder.get("deputy_out_of_office"):
            return
        self._deputies[deputy["id"]] = deputy["name"]
        back = f" until {holder['back_on']}" if holder.get("back_on") else ""
        person = holder["person"]["name"]
        yield Sign(
            Station.APPROVER, False, f"{role.upper()} {person} is out of office{back}, {deputy['name']} deputises"
        )

    def _approval(self, status: str, approval: dict[str, Any]) -> Iterator[Sign]:
        approver = approval.get("approver_id")
        if approver in self._deputies:
            yield Sign(Station.APPROVER, True, f"the request goes to {self._deputies[approver]}")
        if status == "approved":
            yield Sign(Station.DECISION, True, f"{approval['id']} is approved")
        elif status == "pending":
            yield Sign(Station.DECISION, False, f"{approval['id']} waits for a decision")
