"""The licence: its vendor, its size and term, how many days it has left, and what looks like it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.metrics import (
    LookalikeMetric,
    MetricPlan,
    add_task_metric,
    choose_sources,
    draw_other_value,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, RefusalGround, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import CURRENCY
from companyos_gateway.world.seed_documents.datahub import RecordRow, VendorRow, VendorStatus
from companyos_gateway.world.vendors import draw_certificates, draw_vendor
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

UNIT = "days"
DAYS_LEFT = (32, 60)
"""Days left of a licence that may be renewed: more than its ticket has time."""

LONGEST_DAYS = 300
TERMS = (365, 730, 1095)
CAPS = (180, 270, 360)
PRICES_CENTS = {Role.PROCUREMENT_LEAD: (9_000, 30_000), Role.CFO: (120_000, 400_000)}
"""Prices of a seat by the role that will decide about the renewal."""

SEATS = (40, 120)


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A licence with what its renewal comes to."""

    record: RecordRow
    vendor: VendorRow
    variant: Variant
    ground: RefusalGround | None
    role: Role
    left: int
    longest_term_days: int | None
    covering: RecordRow | None
    """The renewed record that covers the same already, where there is one."""
    lookalike: RecordRow | None
    """A licence of the same product from another vendor."""

    @property
    def seats(self) -> int:
        """For how many seats it is renewed."""
        used: int = self.record.fields["seats_used"]
        return min(used, self.record.fields["seats"]) if self.variant.is_resized else int(self.record.fields["seats"])

    @property
    def amount_cents(self) -> int:
        """The cost of the renewal in cents."""
        return self.seats * int(self.record.fields["price_per_seat_cents"])

    @property
    def new_end(self) -> date:
        """The last day of the renewed licence."""
        assert self.record.ends_on is not None
        term: int = self.record.fields["term_days"]
        days = term if self.longest_term_days is None else min(term, self.longest_term_days)
        return self.record.ends_on + timedelta(days=days)

    @property
    def product(self) -> str:
        """The licensed product."""
        return str(self.record.fields["product"])


def texts() -> dict[str, Any]:
    """Return the texts of the scenario."""
    return load_texts(__file__)


def add_licence(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Licence:
    """Add the licence and its vendor, and what looks like it."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    role = stream.choice(list(PRICES_CENTS))
    status: VendorStatus = "suspended" if ground is RefusalGround.SUSPENDED else "active"
    vendor = draw_vendor(world, stream, status=status, goods="licence")
    draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
    left = stream.integer(*DAYS_LEFT)
    if ground is RefusalGround.TOO_EARLY:
        left = stream.integer(DAYS_LEFT[1] + 40, LONGEST_DAYS)
    record = _record(world, stream, vendor, role, left)
    cap = stream.choice(CAPS) if variant.is_capped else None
    world.datahub.records.append(record)
    covering = lookalike = None
    if ground is RefusalGround.COVERED:
        covering = _similar_licence(world, record, vendor.id, state="renewed")
        covering.ends_on = world.today + timedelta(days=left + 365)
    if Kind.SIMILAR_NAMES in kinds:
        other = draw_vendor(world, stream, status="active", goods="licence")
        draw_certificates(world, stream, other)
        lookalike = _similar_licence(world, record, other.id, state=record.state)
        lookalike.fields["seats_used"] = stream.integer(10, 30)
    return Licence(
        record=record,
        vendor=vendor,
        variant=variant,
        ground=ground,
        role=role,
        left=left,
        longest_term_days=cap,
        covering=covering,
        lookalike=lookalike,
    )


def add_days_left(
    world: WorldBuilder, stream: Stream, licence: Licence, window: int, *, kinds: Collection[Kind]
) -> MetricSpec:
    """Add how many days are left; another source sees it on the other side of the policy's window."""
    sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("spend_to_date", "delivery_score"))
    left = licence.left
    is_early = licence.ground is RefusalGround.TOO_EARLY
    across = (5, window) if is_early else (window + 1, LONGEST_DAYS)
    old = (5, window) if is_early else (5, LONGEST_DAYS)
    lookalike = licence.lookalike
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=licence.record.id,
        title=f"Days left on {licence.record.title}",
        unit=UNIT,
        sources=sources,
        value=left,
        draw_stale_value=lambda own: draw_other_value(own, left, *old),
        draw_conflicting_value=lambda own: own.integer(*across),
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id,
            title=f"Days left on {lookalike.title}",
            draw_value=lambda own: draw_other_value(own, left, 5, LONGEST_DAYS),
        ),
    )
    return add_task_metric(world, stream, plan, kinds)


def _record(world: WorldBuilder, stream: Stream, vendor: VendorRow, role: Role, left: int) -> RecordRow:
    product = stream.choice(pool("data")["slots"]["licence"])
    term = stream.choice(TERMS)
    seats = stream.integer(*SEATS)
    low, high = PRICES_CENTS[role]
    ends_on = world.today + timedelta(days=left)
    starts_on = ends_on - timedelta(days=term)
    filed_at = draw_office_time(stream, working_days_from(starts_on, -stream.integer(1, 10)))
    return RecordRow(
        id=world.ids.take("LIC"),
        kind="licence",
        title=f"Licence: {product}, {stream.choice(['team', 'business', 'enterprise'])} edition",
        state="expiring",
        owner_id=stream.choice(world.staff.active()).id,
        vendor_id=vendor.id,
        amount_cents=None,
        currency=CURRENCY,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={
            "product": product,
            "seats": seats,
            "seats_used": seats - stream.integer(4, 30),
            "price_per_seat_cents": 500 * stream.integer(low // 500, high // 500),
            "term_days": term,
            "auto_renews": False,
        },
        created_at=filed_at,
        updated_at=filed_at,
    )


def _similar_licence(world: WorldBuilder, record: RecordRow, vendor_id: str, *, state: str) -> RecordRow:
    other = replace(record, id=world.ids.take("LIC"), vendor_id=vendor_id, state=state, fields=dict(record.fields))
    world.datahub.records.append(other)
    return other
