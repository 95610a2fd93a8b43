"""What is played: a fixed row of steps, each effect with a canary, and what the answers must be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

SEEDS = (7, 11, 13)
"""The companies that are played; few, so that a reset is mostly of a task that was seen."""

MOST_STEPS = 52
CANARY = re.compile(r"canary-[0-9a-z]{20}")
RESET = {"scenario": "vendor_onboarding", "chaos": 0, "completion": "explicit"}

_WRITES = ("ticketdesk", "datahub", "approvalflow")
_ROUND = 8


@dataclass(frozen=True)
class EpisodeEntities:
    """What the steps of a seed speak about."""

    ticket: str
    person: str
    approval: str


@dataclass(frozen=True)
class Action:
    """One step: what is sent, and the service that a canary is left in."""

    tool: str
    arguments: dict[str, Any]
    service: str | None = None
    canary: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The action as it travels."""
        return {"tool_name": self.tool, "arguments": self.arguments}


def canary_of(player: str, replay_number: int, number: int) -> str:
    """Return the text that step `number` leaves. Laps tell apart what is played twice after a restore."""
    return f"canary-{player[:12]:x<12}{replay_number % 10_000:04d}{number % 10_000:04d}"


def action_of(entities: EpisodeEntities, number: int, canary: str) -> Action:
    """Return the step of that number: six writes in eight, two in each service, a read and a wait."""
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
    """Return what an agent is told as a text that is the same for every player of a seed: canaries are made equal."""
    visible = {name: response[name] for name in ("observation", "reward", "done")}
    return CANARY.sub("canary", repr(visible))


@dataclass
class Reference:
    """What an undisturbed episode of a seed was answered, step by step."""

    entities: EpisodeEntities
    first: str
    answers: list[str] = field(default_factory=list)

    @classmethod
    def unknown(cls) -> Reference:
        """Return the reference of a seed that was never played."""
        return cls(EpisodeEntities("", "", ""), "")
