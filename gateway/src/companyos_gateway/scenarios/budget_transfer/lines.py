"""The two budget lines: what they have, who owns them, and a line that looks like the one that gives."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.budget_transfer.case import Ground, Shape
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import EXECUTIVE, FINANCE
from companyos_gateway.world.records import CURRENCY
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

STEP_CENTS = 10_000
"""Amounts are whole hundreds of the currency."""

CONTROLLER_LIMIT_CENTS = (1_500_000, 2_500_000)
"""Up to here a finance controller decides, the CFO above."""

SMALL_SHARES, LARGE_SHARES = (40, 95), (130, 270)
"""Amounts in percent of that limit, by who decides about them."""

RESERVE_CENTS = (200_000, 900_000)
NATURES = ("operating", "capital")


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What is to be moved, from where to where."""

    shape: Shape
    ground: Ground | None
    giver: RecordRow
    taker: RecordRow
    twin: RecordRow | None
    amount_cents: int
    limit_cents: int
    reserve_cents: int
    """What must stay free on the line that gives."""

    @property
    def role(self) -> Role:
        """Who decides."""
        return Role.FINANCE_CONTROLLER if self.amount_cents <= self.limit_cents else Role.CFO

    @property
    def free_cents(self) -> int:
        """What is neither committed nor spent on the line that gives."""
        fields = self.giver.fields
        return int(fields["budget_cents"]) - int(fields["committed_cents"]) - int(fields["spent_cents"])


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def hundreds(stream: Stream, low: int, high: int) -> int:
    """Draw an amount of whole hundreds in [low, high]."""
    return STEP_CENTS * stream.integer(-(-low // STEP_CENTS), high // STEP_CENTS)


def add_lines(world: World, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Transfer:
    """Add the lines, and draw what is to be moved between them."""
    shape, drawn = stream.choice(list(Shape)), stream.choice(list(Ground))
    ground = drawn if must_refuse else None
    limit, reserve = hundreds(stream, *CONTROLLER_LIMIT_CENTS), hundreds(stream, *RESERVE_CENTS)
    is_large = shape is not Shape.WHOLE or stream.chance(0.5)
    low, high = LARGE_SHARES if is_large else SMALL_SHARES
    amount = hundreds(stream, limit * low // 100, limit * high // 100)
    nature = stream.choice(NATURES)
    other = next(one for one in NATURES if one != nature)
    first, second = stream.sample(texts()["purposes"], 2)
    free = amount + (hundreds(stream, 0, reserve - STEP_CENTS) if ground is Ground.TOO_LITTLE else reserve)
    if ground is not Ground.TOO_LITTLE:
        free += hundreds(stream, 0, 2_000_000)
    giver = _line(world, stream, first, nature, free=free)
    taker = _line(world, stream, second, other if ground is Ground.MIXED else nature, free=hundreds(stream, 0, 900_000))
    twin = None
    if Kind.SIMILAR_NAMES in kinds:
        fields = {**giver.fields, "cost_center": f"CC-{stream.integer(5000, 5999)}"}
        fields["spent_cents"] += stream.integer(1, 9) * STEP_CENTS
        twin = replace(giver, id=world.ids.take("BUD"), fields=fields)
    world.hub.records += [one for one in stream.shuffled([giver, taker, twin]) if one is not None]
    return Transfer(
        shape=shape,
        ground=ground,
        giver=giver,
        taker=taker,
        twin=twin,
        amount_cents=amount,
        limit_cents=limit,
        reserve_cents=reserve,
    )


def _line(world: World, stream: Stream, purpose: str, nature: str, *, free: int) -> RecordRow:
    committed, spent = hundreds(stream, 100_000, 3_000_000), hundreds(stream, 100_000, 3_000_000)
    filed_at = office_moment(stream, working_days_from(world.today, -stream.integer(10, 60)))
    owners = [one for one in world.staff.active() if one.team_id not in (FINANCE, EXECUTIVE)]
    year = world.today.year
    return RecordRow(
        id=world.ids.take("BUD"),
        kind="budget_line",
        title=f"Budget: {purpose}",
        state="active",
        owner_id=stream.choice(owners).id,
        vendor_id=None,
        amount_cents=None,
        currency=CURRENCY,
        starts_on=None,
        ends_on=None,
        fields={
            "cost_center": f"CC-{stream.integer(1000, 4999)}",
            "fiscal_year": year,
            "nature": nature,
            "budget_cents": free + committed + spent,
            "committed_cents": committed,
            "spent_cents": spent,
        },
        created_at=filed_at,
        updated_at=filed_at,
    )
