"""The facts of one licence renewal: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase
from companyos_shared.wire.company import Role

NAME = "license_renewal"
TYPE_KEY = "licence_renewal"
METRIC_KEY = "licence_days_left"


class Variant(StrEnum):
    """Variant of the case: changes of seats, of the term, of both or none."""

    SAME = "same"
    RESIZED = "resized"
    CAPPED = "capped"
    RESIZED_AND_CAPPED = "resized_and_capped"

    @property
    def is_resized(self) -> bool:
        """Return whether the policy sizes a renewal by the seats in use."""
        return self in (Variant.RESIZED, Variant.RESIZED_AND_CAPPED)

    @property
    def is_capped(self) -> bool:
        """Return whether the policy limits the term."""
        return self in (Variant.CAPPED, Variant.RESIZED_AND_CAPPED)


class RefusalGround(StrEnum):
    """Why a renewal must be refused, by the reason code that the policy wants."""

    TOO_EARLY = "requirement_not_met"
    SUSPENDED = "policy_violation"
    COVERED = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One licence renewal."""

    variant: Variant
    ground: RefusalGround | None
    licence_id: str
    vendor_id: str
    seats: int
    amount_cents: int
    new_end: date
    role: Role
    days_left: MetricSpec
    window_days: int
    policy_id: str
    kinds: frozenset[Kind]
