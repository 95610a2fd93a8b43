"""The facts of one incident: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase
from companyos_gateway.evaluation.ticket_goals import TicketGoal

NAME = "incident_response"
TYPE_KEY = "emergency_change"
METRIC_KEY = "error_rate"


class Variant(StrEnum):
    """Variant of the case: a change to roll back, a colleague's rollback, or an upstream service."""

    ROLLBACK = "rollback"
    HOTFIX = "hotfix"
    UPSTREAM = "upstream"


class RefusalGround(StrEnum):
    """Why an incident must be refused, by the reason code that the policy wants."""

    BELOW = "requirement_not_met"
    KNOWN = "duplicate"
    MAINTENANCE = "withdrawn"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One incident."""

    variant: Variant
    ground: RefusalGround | None
    service: str
    rate: MetricSpec
    lowest_rate: float
    """From here on the policy sees an incident."""
    duplicates: tuple[TicketGoal, ...]
    """The other reports of it; none where it is refused."""
    cause_key: str
    """The change that caused it."""
    cause_free_at: datetime
    """When a colleague has taken the change back; the start where that is not awaited."""
    known_key: str
    """An incident that somebody works on: the same one where that is the ground, else another."""
    notice_id: str
    """A notice of maintenance: of this service and week where that is the ground, else of others."""
    on_call_id: str
    policy_id: str
    kinds: frozenset[Kind]
