"""The facts of one offboarding: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "employee_offboarding"
TYPE_KEY = "purchase_order"
"""The approval type of what waits for the leaver."""


class Variant(StrEnum):
    """Variant of the case: open tickets, own requests, or both, beside duties and access."""

    DUTIES = "duties"
    DUTIES_AND_TICKETS = "duties_and_tickets"
    DUTIES_AND_REQUESTS = "duties_and_requests"
    EVERYTHING = "everything"

    @property
    def has_tickets(self) -> bool:
        """Return whether open tickets are assigned to the leaver."""
        return self in (Variant.DUTIES_AND_TICKETS, Variant.EVERYTHING)

    @property
    def has_requests(self) -> bool:
        """Return whether requests of the leaver are pending."""
        return self in (Variant.DUTIES_AND_REQUESTS, Variant.EVERYTHING)


class RefusalGround(StrEnum):
    """Why an offboarding must be refused, by the reason code that the policy wants."""

    STAYS = "requirement_not_met"
    HELD = "policy_violation"
    DONE_BEFORE = "duplicate"


@dataclass(frozen=True)
class HandedOverTicket:
    """A ticket that is handed over: it stays at its status, and one of these people takes it."""

    key: str
    status: str
    assignee_ids: tuple[str, ...]


@dataclass(frozen=True)
class EscalatedRequest:
    """A request that waits for the leaver."""

    request_id: str
    amount_cents: int


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One offboarding."""

    variant: Variant
    ground: RefusalGround | None
    person_id: str
    last_day: date | None
    tickets: tuple[HandedOverTicket, ...]
    cancelled_ids: tuple[str, ...]
    """Requests that the leaver has made."""
    escalated: tuple[EscalatedRequest, ...]
    role: Role
    """Who decides about what waits for the leaver."""
    delegation_ids: tuple[str, ...]
    revoked_ids: tuple[str, ...]
    """Grants that are revoked at once."""
    ended_ids: tuple[str, ...]
    """Grants that end on the last day."""
    policy_id: str
    ground_id: str | None
    """The document that speaks against it, where one does."""
    kinds: frozenset[Kind]
