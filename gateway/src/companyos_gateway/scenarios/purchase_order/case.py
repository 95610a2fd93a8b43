"""The facts of one invoice on an order: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "purchase_order"
TYPE_KEY = "invoice_release"


class Variant(StrEnum):
    """Variant of the case: how the goods were delivered and invoiced."""

    WHOLE = "whole"
    PARTS = "parts"
    INSPECTED = "inspected"
    INSTALMENT = "instalment"
    CREDITED = "credited"


class RefusalGround(StrEnum):
    """Why an invoice must not be released."""

    PRICE = "price"
    QUANTITY = "quantity"
    VENDOR = "vendor"
    DUPLICATE = "duplicate"

    @property
    def reason_code(self) -> str:
        """The reason that the policy wants."""
        return _REASON_CODES[self]


_REASON_CODES = {
    RefusalGround.PRICE: "requirement_not_met",
    RefusalGround.QUANTITY: "requirement_not_met",
    RefusalGround.VENDOR: "policy_violation",
    RefusalGround.DUPLICATE: "duplicate",
}


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One invoice on an order."""

    variant: Variant
    ground: RefusalGround | None
    invoice_id: str
    order_id: str
    receipt_ids: tuple[str, ...]
    """The receipts that count: accepted ones, and those that will be."""
    paid_twin_id: str | None
    """The paid invoice with the same number, where there is one."""
    invoiced_before: int
    price_difference_cents: int
    credited: Mapping[str, Any]
    """What a credit note takes off, as the invoice has to hold it; empty where there is none."""
    amount_cents: int
    closes_order: bool
    role: Role
    policy_id: str
    kinds: frozenset[Kind]
