"""The facts of one onboarding: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from companyos_gateway.chaos import Kind

NAME = "vendor_onboarding"
TYPE_KEY = "vendor_onboarding"
METRIC_KEY = "compliance_score"
REASON_CODE = "requirement_not_met"


class Unblocking(StrEnum):
    """How a ticket's way becomes free: its blocker is done, never belonged there, or is being finished by others."""

    RESOLVE = "resolve"
    UNLINK = "unlink"
    WAIT = "wait"


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """What holds the ticket up, and the right way past it."""

    key: str
    link_id: str
    way: Unblocking
    free_at: datetime
    """When a colleague has finished it; the start where that is not awaited."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The compliance score: where it comes from, how old it may be and what it will be once refreshed."""

    metric_id: str
    source_id: str
    other_metric_ids: tuple[str, ...]
    max_age: timedelta
    is_stale: bool
    value: float
    """What it is when it is fresh: after the refresh where it is stale, from the start where it is not."""
    failing_refreshes: int
    refresh_minutes: int


@dataclass(frozen=True, kw_only=True)
class Case:
    """One onboarding."""

    agent_id: str
    ticket_key: str
    team_id: str
    due_on: date
    open_items: tuple[str, ...]
    first_status: str | None
    needs_priority: bool
    needs_assignee: bool
    assignee_ids: tuple[str, ...]
    """Who may work the ticket: employed, in the owning team, at work on the day it is due."""
    priority: str
    vendor_id: str
    contract_id: str
    fixed_fields: Mapping[str, str | int]
    """The fields of the request whose values stand in a record or vendor from the start."""
    policy_id: str
    policy_version: int
    minimum_score: float
    score: Score
    approver_ids: tuple[str, ...]
    """Who may decide from the first day on, all through the story."""
    blocker: Blocker | None
    must_refuse: bool
    kinds: frozenset[Kind]

    @property
    def policy_refs(self) -> tuple[str, str]:
        """How the policy may be referred to: by its id, or with its version."""
        return self.policy_id, f"{self.policy_id}-v{self.policy_version}"
