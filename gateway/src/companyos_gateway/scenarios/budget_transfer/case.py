"""The facts of one budget transfer: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal, TicketCase
from companyos_shared.wire.company import Role

NAME = "budget_transfer"
TYPE_KEY = "budget_transfer"


class Variant(StrEnum):
    """Variant of the case: earlier partial requests by the requester, by colleagues, by both or none."""

    WHOLE = "whole"
    OWN_PARTS = "own_parts"
    OTHERS_PARTS = "others_parts"
    BOTH = "both"


class RefusalGround(StrEnum):
    """Why a transfer must be refused, by the reason code that the policy wants."""

    TOO_LITTLE = "requirement_not_met"
    MIXED = "policy_violation"
    NOT_THE_OWNER = "not_entitled"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One transfer."""

    variant: Variant
    ground: RefusalGround | None
    giver_id: str
    taker_id: str
    amount_cents: int
    giver_budget_cents: int
    """What the giving line has once it is booked."""
    taker_budget_cents: int
    role: Role
    own_parts: tuple[str, ...]
    """Requests that are withdrawn."""
    others_parts: tuple[str, ...]
    """Requests that are cancelled, for `parts_reason`."""
    parts_reason: Refusal
    policy_id: str
    kinds: frozenset[Kind]
