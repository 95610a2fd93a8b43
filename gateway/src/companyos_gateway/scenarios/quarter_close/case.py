"""The facts of one quarter close: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_shared.wire.company import Role

NAME = "quarter_close"
TYPE_KEY = "quarter_close"
METRIC_KEY = "budget_used"


class Variant(StrEnum):
    """Variant of the case: expenses, completed orders or expired access beside the invoices."""

    EXPENSES = "expenses"
    ORDERS = "orders"
    GRANTS = "grants"


class RefusalGround(StrEnum):
    """Why a quarter must not be closed, by the reason code that the policy wants."""

    OVERSPENT = "policy_violation"
    CANCELLED_ORDER = "requirement_not_met"
    CLOSED_BEFORE = "duplicate"


@dataclass(frozen=True)
class SettledRecord:
    """Required state of a settled record, and the fields that give the reason."""

    record_id: str
    state: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One quarter close."""

    variant: Variant
    ground: RefusalGround | None
    cost_center: str
    line_id: str
    budget_cents: int
    figure: ReportedValue
    settled: tuple[SettledRecord, ...]
    """The invoices and the papers of the shape, each with its right end."""
    step_keys: tuple[str, ...]
    """The tickets that hold up the close until their part of it is done: the invoices first, then the others."""
    invoice_ids: tuple[str, ...]
    void_id: str | None
    """The invoice on an order that was cancelled, where there is one."""
    void_order_id: str | None
    approved_cents: int
    """The total of the approved invoices in cents."""
    held: int
    other_key: str | None
    """The ticket under which the quarter is being closed already, where there is one."""
    role: Role
    policy_id: str
    kinds: frozenset[Kind]

    @property
    def papers(self) -> tuple[SettledRecord, ...]:
        """The settled records other than invoices."""
        return tuple(one for one in self.settled if one.record_id not in self.invoice_ids)

    @property
    def invoices(self) -> tuple[SettledRecord, ...]:
        """The invoices."""
        return tuple(one for one in self.settled if one.record_id in self.invoice_ids)
