"""The facts of one sweep of a backlog: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.ticket_goals import TicketGoal

NAME = "backlog_triage"
TAG = "triage"
"""The tag of the tickets that order a sweep."""


class Variant(StrEnum):
    """To whom the tickets go: to everybody alike, to the owners of assets, or what is urgent to the lead."""

    SPREAD = "spread"
    OWNERS = "owners"
    LEAD = "lead"


class RefusalGround(StrEnum):
    """Why a sweep must be refused, by the reason code that the policy wants."""

    TOO_FEW = "requirement_not_met"
    NOT_ORDERED = "not_entitled"
    TWICE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One sweep."""

    variant: Variant
    ground: RefusalGround | None
    tag: str
    goals: tuple[TicketGoal, ...]
    """The tickets of the sweep; none where it is refused."""
    max_per_person: int | None
    """How many of them one person may get, where the policy spreads them."""
    ordered_by: str
    sweep_key: str
    """Another sweep that is in progress: of the same tickets where that is the ground, else of others."""
    policy_id: str
    kinds: frozenset[Kind]
