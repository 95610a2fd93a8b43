"""The risk of a vendor: the tiers that a policy draws, and the index by which a vendor falls into one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.scenarios.contract_renewal.case import METRIC_KEY, Ground
from companyos_gateway.scenarios.parts.measures import MeasurePlan, Twin, add_measure, choose_sources
from companyos_gateway.world.documents.datahub import RiskTier, VendorRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

UNIT = "points"
LEAST, MOST = 4, 98
MEDIUM_FROM, HIGH_FROM, HIGHEST = (26, 36), (50, 58), (76, 86)
TIERS: tuple[RiskTier, ...] = ("low", "medium", "high")


@dataclass(frozen=True)
class Bars:
    """From where on a risk is medium or high, and up to where a contract is renewed at all."""

    medium_from: int
    high_from: int
    highest: int

    def tier(self, index: int) -> RiskTier:
        """Return the tier of an index."""
        return TIERS[(index >= self.medium_from) + (index >= self.high_from)]

    def draw_in(self, stream: Stream, tier: RiskTier) -> int:
        """Draw an index of a tier at which a contract may be renewed."""
        ranges = {
            "low": (LEAST, self.medium_from - 1),
            "medium": (self.medium_from, self.high_from - 1),
            "high": (self.high_from, self.highest),
        }
        return stream.integer(*ranges[tier])


@dataclass(frozen=True)
class Risk:
    """The risk of the vendor."""

    bars: Bars
    index: int

    @property
    def tier(self) -> RiskTier:
        """The tier of today."""
        return self.bars.tier(self.index)

    @property
    def is_too_high(self) -> bool:
        """Whether nothing is renewed at that risk."""
        return self.index > self.bars.highest


def draw_risk(stream: Stream, ground: Ground | None) -> Risk:
    """Draw the bars of the policy in force, and the index."""
    bars = Bars(stream.integer(*MEDIUM_FROM), stream.integer(*HIGH_FROM), stream.integer(*HIGHEST))
    index = bars.draw_in(stream, stream.choice(TIERS))
    above = stream.integer(bars.highest + 1, MOST)
    return Risk(bars, above if ground is Ground.RISK else index)


def other_bars(stream: Stream, risk: Risk) -> Bars:
    """Draw bars by which the index is of another tier, or on the other side of the highest."""
    index, far, near = risk.index, stream.integer(9, 20), stream.integer(1, 6)
    if risk.is_too_high:
        return Bars(stream.integer(*MEDIUM_FROM), stream.integer(*HIGH_FROM), 99)
    wanted = stream.choice([tier for tier in TIERS if tier != risk.tier])
    medium, high = {
        "low": (index + near, index + near + far),
        "medium": (max(2, index - near), index + far),
        "high": (max(2, index - near - far), max(3, index - near)),
    }[wanted]
    return Bars(medium, high, max(stream.integer(*HIGHEST), high + 1))


def add_index(
    world: World, stream: Stream, vendor: VendorRow, twin: VendorRow | None, risk: Risk, kinds: Collection[Kind]
) -> Reading:
    """Add the vendor's index; an old value and what another source says are of another tier or side."""
    sources = choose_sources(world, stream, key=METRIC_KEY, rival_keys=("compliance_score", "delivery_score"))

    def elsewhere(own: Stream) -> int:
        others = [tier for tier in TIERS if risk.is_too_high or tier != risk.tier]
        return risk.bars.draw_in(own, own.choice(others))

    plan = MeasurePlan(
        key=METRIC_KEY,
        subject=vendor.id,
        title=_title(vendor),
        unit=UNIT,
        sources=sources,
        value=risk.index,
        draw_old=elsewhere,
        draw_rival=elsewhere,
        twin=None if twin is None else Twin(subject=twin.id, title=_title(twin), draw_value=elsewhere),
    )
    return add_measure(world, stream, plan, kinds)


def _title(vendor: VendorRow) -> str:
    return f"Outside-in risk index of {vendor.legal_name}"
