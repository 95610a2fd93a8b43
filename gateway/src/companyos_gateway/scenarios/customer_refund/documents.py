"""A refund claim with its customer, sales order and returns, and the sales and claims of other customers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.documents import file_record
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_gateway.world.vendors import draw_iban
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

QUANTITIES = {Role.FINANCE_CONTROLLER: (8, 16), Role.CFO: (90, 160)}
"""Units of the order, by the role that will decide about the claim."""

PRICES_EUR = (60, 240)
IN_TIME_DAYS = (8, 16)
LATE_DAYS = (35, 45)
"""Working days from the delivery to the claim."""

SALE_TYPES = ("regular", "outlet", "demo_unit", "custom_made")
COUNTRIES = ("DE", "FR", "NL", "IE", "AT")
OTHER_CUSTOMERS = 4


class Variant(StrEnum):
    """Variant of the case: what is granted, and whether an inspection has to be awaited."""

    FULL = "full"
    PARTIAL = "partial"
    INSPECTED = "inspected"
    CREDIT = "credit"
    GOODWILL = "goodwill"


class RefusalGround(StrEnum):
    """Why a claim must be refused: one of two signs of fraud, or a condition that is not met."""

    ACCOUNT = "account"
    DELIVERY = "delivery"
    DUPLICATE = "duplicate"
    EXCLUDED = "excluded"
    LATE = "late"
    NOT_RETURNED = "not_returned"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A refund claim, and what is known about it."""

    variant: Variant
    ground: RefusalGround | None
    role: Role
    customer: RecordRow
    order: RecordRow
    record: RecordRow
    returns: tuple[RecordRow, ...]
    """Goods receipts of the order."""
    opened_percent: int
    """Share that the policy in force grants for opened units that are no longer needed."""
    goodwill_cap_cents: int
    paid: RecordRow | None
    """The paid claim for the same order, if there is one."""
    other: RecordRow | None
    """The claim of another customer for the same delivery, if there is one."""

    @property
    def accepted_ids(self) -> tuple[str, ...]:
        """The goods receipts that count in the end."""
        return tuple(one.id for one in self.returns if one.state != "rejected")

    @property
    def is_late(self) -> bool:
        """Whether the claim was received after the deadline for refunds."""
        return self.variant is Variant.GOODWILL or self.ground is RefusalGround.LATE

    @property
    def age_days(self) -> int:
        """Days from the delivery to the receipt of the claim."""
        received_on, delivered_on = self.record.fields["received_on"], self.order.fields["delivered_on"]
        return (date.fromisoformat(received_on) - date.fromisoformat(delivered_on)).days

    @property
    def remedy(self) -> str:
        """How the claim is settled."""
        if self.variant is Variant.GOODWILL:
            return "goodwill"
        return "credit_note" if self.record.fields["cause"] == "not_needed" else "refund"

    @property
    def amount_cents(self) -> int:
        """What is granted; for a claim without accepted units, what would be if all were."""
        accepted = [one.fields["quantity"] for one in self.returns if one.id in self.accepted_ids]
        amount = (sum(accepted) or self.record.fields["quantity"]) * int(self.order.fields["unit_price_cents"])
        if self.remedy == "credit_note" and self.returns[0].fields["condition"] == "opened":
            amount = amount * self.opened_percent // 100
        return min(amount, self.goodwill_cap_cents) if self.remedy == "goodwill" else int(amount)


def add_claim(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Claim:
    """Add the claim with all that belongs to it, and the sales, returns and claims of other customers."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant)) if ground is None else Variant.FULL
    role = stream.choice(list(QUANTITIES))
    is_late = variant is Variant.GOODWILL or ground is RefusalGround.LATE
    received_on = working_days_from(world.today, -stream.integer(4, 8))
    delivered_on = working_days_from(received_on, -stream.integer(*(LATE_DAYS if is_late else IN_TIME_DAYS)))
    name, *other_names = stream.sample(load_texts(__file__)["customers"], 1 + OTHER_CUSTOMERS)
    is_fraud, is_key = ground is RefusalGround.ACCOUNT, variant is Variant.GOODWILL or stream.chance(0.4)
    customer = _add_customer(world, stream, name, delivered_on, has_sign=is_fraud, key_account=is_key)
    sale_type = stream.choice(SALE_TYPES[1:] if ground is RefusalGround.EXCLUDED else SALE_TYPES)
    order = _add_order(world, stream, customer, delivered_on, role=role, sale_type=sale_type)
    cause = "not_needed" if variant is Variant.CREDIT else stream.choice(["defective", "wrong_item"])
    record = _add_record(world, stream, customer, order, received_on, cause=cause)
    paid = None
    if ground is RefusalGround.DUPLICATE or stream.chance(0.4):
        day, state = working_days_from(delivered_on, stream.integer(1, 4)), "rejected"
        earlier = _add_record(world, stream, customer, order, day, cause="defective", state=state)
        earlier.fields["quantity"], earlier.amount_cents = record.fields["quantity"], record.amount_cents
        if ground is RefusalGround.DUPLICATE:
            earlier.state, paid = "paid", earlier
    others = [_add_other(world, stream.child("other", one), one) for one in other_names]
    other = others[0] if ground is RefusalGround.DELIVERY else None
    if other is not None:
        other.fields["delivery_number"] = record.fields["delivery_number"]
    if Kind.SIMILAR_NAMES in kinds:
        similar = f"{name} {stream.choice(load_texts(__file__)['branches'])}"
        _add_other(world, stream.child("similar"), similar, state="submitted", item=order.fields["item"])
    return Claim(
        variant=variant,
        ground=ground,
        role=role,
        customer=customer,
        order=order,
        record=record,
        returns=tuple(_add_returns(world, stream.child("returns"), order, record, variant, ground)),
        opened_percent=5 * stream.integer(10, 17),
        goodwill_cap_cents=rounded_amount(
            stream, (record.amount_cents or 0) * 4 // 10, (record.amount_cents or 0) * 8 // 10
        ),
        paid=paid,
        other=other,
    )


def _add_customer(
    world: WorldBuilder, stream: Stream, name: str, delivered_on: date, *, has_sign: bool, key_account: bool
) -> RecordRow:
    """Add a customer; its account was changed after the order in favor of somebody else only with the sign of fraud."""
    is_new, is_foreign = (True, True) if has_sign else stream.choice([(False, False), (True, False), (False, True)])
    days = stream.integer(1, 4) if is_new else -stream.integer(30, 200)
    changed_on = working_days_from(delivered_on, days)
    holder = stream.choice(load_texts(__file__)["holders"])
    fields = {
        "customer_name": name,
        "payout_iban": draw_iban(stream, stream.choice(COUNTRIES)),
        "payout_holder": holder if is_foreign else name,
        "payout_changed_on": changed_on.isoformat(),
        "key_account": key_account,
        "credit_cents": stream.choice([0, 0, rounded_amount(stream, 1_000, 40_000)]),
    }
    created_on = working_days_from(delivered_on, -stream.integer(220, 400))
    customer = file_record(world, stream, "customer", title=name, state="active", day=created_on, fields=fields)
    customer.updated_at, customer.version = draw_office_time(stream, changed_on), 2
    return customer


def _add_order(
    world: WorldBuilder,
    stream: Stream,
    customer: RecordRow,
    delivered_on: date,
    *,
    role: Role,
    sale_type: str,
    item: str | None = None,
) -> RecordRow:
    ordered_on = working_days_from(delivered_on, -stream.integer(5, 12))
    item = item or stream.choice(load_texts(__file__)["items"])
    quantity, price_cents = stream.integer(*QUANTITIES[role]), 100 * stream.integer(*PRICES_EUR)
    fields = {
        "customer_id": customer.id,
        "item": item,
        "quantity": quantity,
        "unit_price_cents": price_cents,
        "sale_type": sale_type,
        "ordered_on": ordered_on.isoformat(),
        "delivered_on": delivered_on.isoformat(),
        "delivery_number": f"DN{stream.integer(100_000, 999_999)}",
    }
    order = file_record(
        world,
        stream,
        "sales_order",
        title=f"Sales order of {customer.title}: {item}",
        state="delivered",
        day=ordered_on,
        fields=fields,
        amount_cents=quantity * price_cents,
        starts_on=ordered_on,
    )
    order.updated_at, order.version = draw_office_time(stream, delivered_on), 3
    return order


def _add_record(
    world: WorldBuilder,
    stream: Stream,
    customer: RecordRow,
    order: RecordRow,
    received_on: date,
    *,
    cause: str,
    state: str = "submitted",
) -> RecordRow:
    """Add a refund claim for most or all units of an order."""
    ordered = order.fields["quantity"]
    quantity = stream.integer(ordered * 3 // 4, ordered)
    fields = {
        "customer_id": customer.id,
        "sales_order_id": order.id,
        "delivery_number": order.fields["delivery_number"],
        "cause": cause,
        "quantity": quantity,
        "received_on": received_on.isoformat(),
    }
    return file_record(
        world,
        stream,
        "refund_claim",
        title=f"Refund claim of {customer.title}: {order.fields['item']}",
        state=state,
        day=received_on,
        fields=fields,
        amount_cents=quantity * order.fields["unit_price_cents"],
        starts_on=received_on,
    )


def _add_returns(
    world: WorldBuilder,
    stream: Stream,
    order: RecordRow,
    record: RecordRow,
    variant: Variant,
    ground: RefusalGround | None,
) -> list[RecordRow]:
    """Add the goods receipts of what was sent back: one, two of which one is rejected, or none that counts."""
    quantity, condition = record.fields["quantity"], stream.choice(["opened", "unopened"])
    parts = [(quantity, "accepted")]
    if variant is Variant.PARTIAL:
        rejected = stream.integer(1, quantity // 4)
        parts = [(quantity - rejected, "accepted"), (rejected, "rejected")]
    if variant is Variant.INSPECTED:
        parts = [(quantity, "recorded")]
    if ground is RefusalGround.NOT_RETURNED:
        parts = stream.choice([[], [(quantity, "rejected")]])
    return [_add_return(world, stream, order, record, *part, condition) for part in parts]


def _add_return(
    world: WorldBuilder, stream: Stream, order: RecordRow, record: RecordRow, quantity: int, state: str, condition: str
) -> RecordRow:
    day = working_days_from(date.fromisoformat(record.fields["received_on"]), stream.integer(1, 3))
    fields: dict[str, Any] = {
        "sales_order_id": order.id,
        "quantity": quantity,
        "received_on": day.isoformat(),
        "condition": condition,
    }
    title = f"Customer return: {order.fields['item']}"
    return file_record(world, stream, "goods_receipt", title=title, state=state, day=day, fields=fields)


def _add_other(
    world: WorldBuilder, stream: Stream, name: str, *, state: str | None = None, item: str | None = None
) -> RecordRow:
    """Add another customer with an order, a return and a claim, and return the claim."""
    received_on = working_days_from(world.today, -stream.integer(5, 40))
    delivered_on = working_days_from(received_on, -stream.integer(*IN_TIME_DAYS))
    customer = _add_customer(world, stream, name, delivered_on, has_sign=False, key_account=stream.chance(0.4))
    role, sale_type = stream.choice(list(QUANTITIES)), SALE_TYPES[0]
    order = _add_order(world, stream, customer, delivered_on, role=role, sale_type=sale_type, item=item)
    state = state or stream.choice(["approved", "paid", "paid", "rejected"])
    cause = stream.choice(["defective", "wrong_item", "not_needed"])
    claim = _add_record(world, stream, customer, order, received_on, cause=cause, state=state)
    _add_return(world, stream, order, claim, claim.fields["quantity"], "accepted", "opened")
    return claim
