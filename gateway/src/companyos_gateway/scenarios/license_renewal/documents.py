"""The licence with its vendor, what its renewal comes to, and records that resemble it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum

from companyos_gateway.scenarios import kit

DAYS_LEFT = (32, 60)
"""Range of the days left of a licence that may be renewed: more than its ticket has time."""

LONGEST_DAYS = 300
TERMS = (365, 730, 1095)
CAPS = (180, 270, 360)
PRICES_CENTS = {kit.Role.PROCUREMENT_LEAD: (9_000, 30_000), kit.Role.CFO: (120_000, 400_000)}
"""Range of the price of a seat, by the role that decides about the renewal."""

SEATS = (40, 120)


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
    """Why a renewal must be refused; the value is the policy's reason code."""

    TOO_EARLY = "requirement_not_met"
    SUSPENDED = "policy_violation"
    COVERED = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A licence with what its renewal comes to."""

    record: kit.RecordRow
    vendor: kit.VendorRow
    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    days_left: int
    longest_term_days: int | None
    covering: kit.RecordRow | None
    """The renewed record that covers the same already."""
    lookalike: kit.RecordRow | None
    """A licence of the same product from another vendor."""
    metric: kit.MetricSpec | None = None

    @property
    def seats(self) -> int:
        """The number of seats to renew."""
        seats: int = self.record.fields["seats"]
        return min(self.record.fields["seats_used"], seats) if self.variant.is_resized else seats

    @property
    def amount_cents(self) -> int:
        """The cost of the renewal."""
        return self.seats * int(self.record.fields["price_per_seat_cents"])

    @property
    def new_end(self) -> date:
        """The last day of the renewed licence."""
        assert self.record.ends_on is not None
        term: int = self.record.fields["term_days"]
        return self.record.ends_on + timedelta(days=min(term, self.longest_term_days or term))


def add_licence(build: kit.BuildContext) -> Licence:
    """Add the licence, its vendor and the records that resemble it."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant))
    role = stream.choice(list(PRICES_CENTS))
    is_suspended = ground is RefusalGround.SUSPENDED
    vendor = kit.draw_vendor(world, stream, status="suspended" if is_suspended else "active", goods="licence")
    kit.draw_certificates(world, stream, vendor, expired=kit.Kind.EXPIRED_CERTIFICATE in build.kinds)
    is_early = ground is RefusalGround.TOO_EARLY
    days_left = stream.integer(*((DAYS_LEFT[1] + 40, LONGEST_DAYS) if is_early else DAYS_LEFT))
    record = _add_record(build, vendor, role, days_left)
    covering = lookalike = None
    if ground is RefusalGround.COVERED:
        covering = _add_similar(world, record, vendor.id, state="renewed")
        covering.ends_on = world.today + timedelta(days=days_left + 365)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        other = kit.draw_vendor(world, stream, status="active", goods="licence")
        kit.draw_certificates(world, stream, other)
        lookalike = _add_similar(world, record, other.id, state=record.state)
        lookalike.fields["seats_used"] = stream.integer(10, 30)
    return Licence(
        record=record,
        vendor=vendor,
        variant=variant,
        ground=ground,
        role=role,
        days_left=days_left,
        longest_term_days=stream.choice(CAPS) if variant.is_capped else None,
        covering=covering,
        lookalike=lookalike,
    )


def _add_record(build: kit.BuildContext, vendor: kit.VendorRow, role: kit.Role, days_left: int) -> kit.RecordRow:
    world, stream = build.world, build.stream
    product = stream.choice(kit.pool("data")["slots"]["licence"])
    edition = stream.choice(["team", "business", "enterprise"])
    term, seats = stream.choice(TERMS), stream.integer(*SEATS)
    low, high = PRICES_CENTS[role]
    ends_on = world.today + timedelta(days=days_left)
    starts_on = ends_on - timedelta(days=term)
    return build.file_record(
        "licence",
        title=f"Licence: {product}, {edition} edition",
        state="expiring",
        day=kit.working_days_from(starts_on, -stream.integer(1, 10)),
        fields={
            "product": product,
            "seats": seats,
            "seats_used": seats - stream.integer(4, 30),
            "price_per_seat_cents": 500 * stream.integer(low // 500, high // 500),
            "term_days": term,
            "auto_renews": False,
        },
        vendor_id=vendor.id,
        starts_on=starts_on,
        ends_on=ends_on,
    )


def _add_similar(world: kit.WorldBuilder, record: kit.RecordRow, vendor_id: str, *, state: str) -> kit.RecordRow:
    other = replace(record, id=world.ids.take("LIC"), vendor_id=vendor_id, state=state, fields=dict(record.fields))
    world.datahub.records.append(other)
    return other
