"""A fixed sequence of steps, each write with a canary, and the expected responses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

SEEDS = (7, 11, 13)
"""Seeds to play; only a few, so that most resets hit the task cache."""

MAX_STEPS = 52
CANARY = re.compile(r"canary-[0-9a-z]{20}")
RESET = {"scenario": "vendor_onboarding", "chaos": 0, "completion": "explicit"}

_WRITES = ("ticketdesk", "datahub", "approvalflow")
_ROUND = 8


@dataclass(frozen=True)
class EpisodeEntities:
    """Ids of the entities that the steps of a seed refer to."""

    ticket: str
    person: str
    approval: str


@dataclass(frozen=True)
class Action:
    """One step: tool, arguments, and the service that stores its canary."""

    tool: str
    arguments: dict[str, Any]
    service: str | None = None
    canary: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The action as a request body."""
        return {"tool_name": self.tool, "arguments": self.arguments}


def canary_of(player: str, replay_number: int, number: int) -> str:
    """Return the text that step `number` writes. `replay_number` distinguishes replays after a restore."""
    return f"canary-{player[:12]:x<12}{replay_number % 10_000:04d}{number % 10_000:04d}"


def action_of(entities: EpisodeEntities, number: int, canary: str) -> Action:
    """Return the step with a number. Each round of eight has six writes (two per service), a read and a wait."""
    place = number % _ROUND
    if place == 0:
        return Action("wait", {"minutes": 45})
    if place == 4:
        return Action("ticketdesk_get_ticket", {"key": entities.ticket})
    service = _WRITES[number % 3]
    if service == "ticketdesk":
        return Action("ticketdesk_add_comment", {"key": entities.ticket, "body": canary}, service, canary)
    if service == "datahub":
        issue = {"subject": entities.person, "kind": "wrong", "description": canary}
        return Action("datahub_report_data_issue", issue, service, canary)
    note = {"request_id": entities.approval, "body": canary}
    return Action("approvalflow_add_approval_note", note, service, canary)


def normalize(response: dict[str, Any]) -> str:
    """Return an observation as text, with canaries replaced so that it is equal for every player of a seed."""
    visible = {name: response[name] for name in ("observation", "reward", "done")}
    return CANARY.sub("canary", repr(visible))


@dataclass
class Reference:
    """The responses of an undisturbed episode of a seed, step by step."""

    entities: EpisodeEntities
    first: str
    answers: list[str] = field(default_factory=list)

    @classmethod
    def unknown(cls) -> Reference:
        """Return the empty reference of a seed that was never played."""
        return cls(EpisodeEntities("", "", ""), "")
