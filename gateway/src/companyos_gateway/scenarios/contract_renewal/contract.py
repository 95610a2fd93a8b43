"""The contract: its vendor and term, what the next term costs, what else was agreed, and what looks like it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.contract_renewal.case import Ground, Shape
from companyos_gateway.scenarios.contract_renewal.papers import Certified, add_certificates
from companyos_gateway.scenarios.contract_renewal.risk import TIERS, Risk, draw_risk
from companyos_gateway.scenarios.parts.filing import file_record
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.documents.datahub import RecordRow, RiskTier, VendorRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import PREFIXES
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PRICES_CENTS = {Role.FINANCE_CONTROLLER: (200_000, 900_000), Role.CFO: (3_000_000, 12_000_000)}
"""Prices of a year by the role that will decide about the renewal."""

TERMS_YEARS = (2, 3)
DAYS_LEFT = (32, 75)
LONGEST_YEARS: dict[RiskTier, int] = {"medium": 2, "high": 1}
"""Years of the longest term by tier; a low risk is not capped."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract with what its renewal comes to."""

    record: RecordRow
    vendor: VendorRow
    twin: VendorRow | None
    """A vendor of nearly the same name that has a contract of the same title."""
    shape: Shape
    ground: Ground | None
    role: Role
    risk: Risk
    certified: Certified
    covering: RecordRow | None
    """The renewed contract that covers the same already, where there is one."""

    @property
    def term_years(self) -> int:
        """For how long it is renewed."""
        years: int = self.record.fields["term_years"]
        return min(years, LONGEST_YEARS.get(self.risk.tier, years))

    @property
    def amount_cents(self) -> int:
        """What the new term costs."""
        return self.term_years * self.yearly_cents

    @property
    def full_cents(self) -> int:
        """What a term as long as the last would cost."""
        return int(self.record.fields["term_years"]) * self.yearly_cents

    @property
    def yearly_cents(self) -> int:
        """The price of a year."""
        return int(self.record.fields["yearly_price_cents"])

    @property
    def new_end(self) -> date:
        """The last day of the new term."""
        assert self.record.ends_on is not None
        return self.record.ends_on.replace(year=self.record.ends_on.year + self.term_years)


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def add_contract(world: World, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Contract:
    """Add the contract and its vendor with certificates, and what looks like them."""
    ground = stream.choice(list(Ground)) if must_refuse else None
    shape = stream.choice(list(Shape))
    if ground is not None and shape is Shape.AWAITED:
        shape = Shape.STEADY
    role = stream.choice(list(PRICES_CENTS))
    risk = draw_risk(stream.child("risk"), ground)
    vendor = draw_vendor(world, stream, status="suspended" if ground is Ground.SUSPENDED else "active")
    other = stream.choice([tier for tier in TIERS if tier != risk.tier])
    vendor.risk_tier = other if shape.is_retiered else risk.tier
    certified = add_certificates(
        world,
        stream.child("certificates"),
        vendor,
        is_expired=shape.is_recertified,
        is_awaited=shape is Shape.AWAITED,
        is_lacking=ground is Ground.CERTIFICATE,
        words=texts(),
    )
    record = _record(world, stream, vendor, role)
    twin, covering = None, _add_renewed(world, stream.child("renewed"), record, is_same=ground is Ground.COVERED)
    if Kind.SIMILAR_NAMES in kinds:
        twin = draw_namesake(world, stream, vendor)
        draw_certificates(world, stream, twin)
        _like(world, record, twin.id, state=record.state)
    return Contract(
        record=record,
        vendor=vendor,
        twin=twin,
        shape=shape,
        ground=ground,
        role=role,
        risk=risk,
        certified=certified,
        covering=covering,
    )


def _record(world: World, stream: Stream, vendor: VendorRow, role: Role) -> RecordRow:
    years = stream.choice(TERMS_YEARS)
    low, high = PRICES_CENTS[role]
    yearly = 500 * stream.integer(low // 500, high // 500)
    ends_on = world.today + timedelta(days=stream.integer(*DAYS_LEFT))
    ends_on = ends_on.replace(day=min(ends_on.day, 28))
    starts_on = ends_on.replace(year=ends_on.year - years)
    subject = stream.choice(texts()["services"])
    return file_record(
        world,
        stream,
        "contract",
        title=f"Contract: {subject}",
        state="active",
        day=working_days_from(world.today, -stream.integer(20, 60)),
        vendor_id=vendor.id,
        amount_cents=years * yearly,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={
            "contract_type": stream.choice(pool("data")["contract"]["types"]),
            "notice_days": stream.choice(pool("data")["contract"]["notice_days"]),
            "auto_renews": False,
            "signed_on": (starts_on - timedelta(days=stream.integer(3, 40))).isoformat(),
            "service": subject,
            "term_years": years,
            "yearly_price_cents": yearly,
            "approval_ref": "",
        },
    )


def _add_renewed(world: World, stream: Stream, record: RecordRow, *, is_same: bool) -> RecordRow | None:
    """Add a contract with the vendor that was renewed already: about the same service, or about another one."""
    if not is_same and stream.chance(0.5):
        return None
    other = _like(world, record, record.vendor_id, state="renewed")
    assert record.ends_on is not None
    other.ends_on = record.ends_on.replace(year=record.ends_on.year + 1)
    if not is_same:
        service = stream.choice([one for one in texts()["services"] if one != record.fields["service"]])
        other.title, other.fields["service"] = f"Contract: {service}", service
    return other if is_same else None


def _like(world: World, record: RecordRow, vendor_id: str | None, *, state: str) -> RecordRow:
    other_id = world.ids.take(PREFIXES["contract"])
    other = replace(record, id=other_id, vendor_id=vendor_id, state=state, fields=dict(record.fields))
    world.hub.records.append(other)
    return other
