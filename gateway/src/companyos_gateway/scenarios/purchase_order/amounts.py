"""The figures of a purchase: what was ordered, received, billed and credited, at which prices and tolerances."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.scenarios.purchase_order.case import Ground, Shape
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PRICES_CENTS = {
    Role.PROCUREMENT_LEAD: (4_000, 10_000),
    Role.FINANCE_CONTROLLER: (20_000, 60_000),
    Role.CFO: (100_000, 300_000),
}
"""Unit prices by the role that will decide about the invoice; multiples of a thousand, so that shares are exact."""

PRICE_STEP = 1_000
AVAILABLE = (40, 160)
PRICE_TOLERANCES = (2, 6)
QUANTITY_TOLERANCES = (5, 10)
OPEN_REST = (20, 60)
"""What is still to be delivered of an order that goes on: more than any tolerance."""


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Quantities in pieces and prices in cents."""

    role: Role
    order_price: int
    invoice_price: int
    price_tolerance: int
    quantity_tolerance: int
    ordered: int
    invoiced_before: int
    available: int
    """Received and not invoiced before."""
    billed: int
    """What the invoice comes to once it is credited."""
    credited: int

    @property
    def received(self) -> int:
        """Everything that was or will be accepted."""
        return self.available + self.invoiced_before

    @property
    def invoiced(self) -> int:
        """What the invoice says."""
        return self.billed + self.credited

    @property
    def credited_cents(self) -> int:
        """What the credit note takes off."""
        return self.credited * self.invoice_price

    @property
    def amount_cents(self) -> int:
        """What is to be paid."""
        return self.billed * self.invoice_price

    @property
    def closes_order(self) -> bool:
        """Whether the whole order is invoiced with it."""
        return self.invoiced_before + self.billed >= self.ordered

    @property
    def permille_above(self) -> int:
        """By how many thousandths the price lies above the order's."""
        return (self.invoice_price - self.order_price) * PRICE_STEP // self.order_price

    @property
    def pieces_above(self) -> int:
        """By how many pieces more is billed than is available."""
        return self.billed - self.available


def draw_amounts(stream: Stream, shape: Shape, ground: Ground | None) -> Amounts:
    """Draw figures that agree within the tolerances, but for what the ground is about."""
    role = stream.choice(list(PRICES_CENTS))
    low, high = PRICES_CENTS[role]
    price = PRICE_STEP * stream.integer(low // PRICE_STEP, high // PRICE_STEP)
    price_tolerance, quantity_tolerance = stream.integer(*PRICE_TOLERANCES), stream.choice(QUANTITY_TOLERANCES)
    available = stream.integer(*AVAILABLE)
    before = stream.integer(20, 80) if shape is Shape.INSTALMENT else 0
    allowed = available * quantity_tolerance // 100
    above = _pieces_above(stream, shape, ground, allowed)
    credited = stream.integer(allowed + 3, allowed + 24)
    received = available + before
    rest = 0 if stream.chance(0.5) else stream.integer(*OPEN_REST)
    permille = _permille_above(stream, ground, price_tolerance * 10)
    return Amounts(
        role=role,
        order_price=price,
        invoice_price=price // PRICE_STEP * (PRICE_STEP + permille),
        price_tolerance=price_tolerance,
        quantity_tolerance=quantity_tolerance,
        ordered=received + (above if ground is Ground.QUANTITY else rest),
        invoiced_before=before,
        available=available,
        billed=available + above,
        credited=credited if shape is Shape.CREDITED else 0,
    )


def _pieces_above(stream: Stream, shape: Shape, ground: Ground | None, allowed: int) -> int:
    how = stream.weighted([("even", 5), ("above", 3), ("below", 2)])
    above, below, over = stream.integer(1, allowed), stream.integer(1, 10), stream.integer(3, 20)
    if ground is Ground.QUANTITY:
        return allowed + over
    if how == "below":
        return -below
    return above if how == "above" and shape is not Shape.CREDITED else 0


def _permille_above(stream: Stream, ground: Ground | None, allowed: int) -> int:
    how = stream.weighted([("even", 4), ("above", 4), ("below", 2)])
    above, below, over = stream.integer(1, allowed), stream.integer(1, 40), stream.integer(3, 80)
    if ground is Ground.PRICE:
        return allowed + over
    return {"even": 0, "above": above, "below": -below}[how]
