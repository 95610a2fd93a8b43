"""The facts of one expense report: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "expense_report"
TYPE_KEY = "expense_report"


class Variant(StrEnum):
    """Variant of the case: complete, receipt elsewhere or late, two records, or flat rate."""

    WHOLE = "whole"
    FOUND = "found"
    COMES = "comes"
    SPLIT = "split"
    PER_DIEM = "per_diem"


class RefusalGround(StrEnum):
    """Why a report must be refused, by the reason code that the policy wants."""

    OVER_LIMIT = "policy_violation"
    PERSONAL = "not_entitled"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One expense report."""

    variant: Variant
    record_ids: tuple[str, ...]
    """The records of the report, the one that the ticket cites first."""
    owner_id: str
    amount_cents: int
    role: Role
    holder_id: str | None
    """The one holder who decides, where the policy names one: the owner's manager."""
    receipt_total_cents: int
    """What the receipt says, on the first record."""
    has_receipts: bool
    policy_id: str
    paid_twin_id: str | None
    """The paid record with the same receipt number, where there is one."""
    kinds: frozenset[Kind]

    @property
    def receipt_is_missing(self) -> bool:
        """Return whether the record needs a receipt that is missing at the start."""
        return self.variant in (Variant.FOUND, Variant.COMES)
