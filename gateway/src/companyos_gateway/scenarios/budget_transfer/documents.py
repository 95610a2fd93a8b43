"""The two budget lines, and earlier requests that are parts of the transfer or look like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

TYPE_KEY = "budget_transfer"
STEP_CENTS = 10_000
"""Amounts are whole hundreds of the currency."""

CONTROLLER_LIMIT_CENTS = (1_500_000, 2_500_000)
"""Range of the amount up to which a finance controller decides; the CFO decides above it."""

SMALL_SHARES, LARGE_SHARES = (40, 95), (130, 270)
"""Amounts in percent of that limit, by who decides about them."""

RESERVE_CENTS = (200_000, 900_000)
NATURES = ("operating", "capital")
OLDEST_DAYS = 14
"""Maximum age of an open request, which expires on the first morning otherwise."""


class Variant(StrEnum):
    """Variant of the case: earlier partial requests by the requester, by colleagues, by both or none."""

    WHOLE = "whole"
    OWN_PARTS = "own_parts"
    OTHERS_PARTS = "others_parts"
    BOTH = "both"


class RefusalGround(StrEnum):
    """Why a transfer must be refused; the value is the policy's reason code."""

    TOO_LITTLE = "requirement_not_met"
    MIXED = "policy_violation"
    NOT_THE_OWNER = "not_entitled"


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A transfer of an amount from `giver` to `taker`. `reserve_cents` must remain free on the line that gives."""

    variant: Variant
    ground: RefusalGround | None
    giver: kit.RecordRow
    taker: kit.RecordRow
    lookalike: kit.RecordRow | None
    reporter_id: str
    amount_cents: int
    limit_cents: int
    reserve_cents: int
    own_parts: tuple[str, ...] = ()
    """Earlier requests of the agent for parts of the amount."""
    others_parts: tuple[str, ...] = ()

    @property
    def role(self) -> kit.Role:
        """The role that decides."""
        return kit.Role.FINANCE_CONTROLLER if self.amount_cents <= self.limit_cents else kit.Role.CFO

    @property
    def left_cents(self) -> int:
        """The amount that remains free on the source line after the transfer."""
        fields = self.giver.fields
        return int(fields["budget_cents"] - fields["committed_cents"] - fields["spent_cents"]) - self.amount_cents


def texts() -> dict[str, Any]:
    """Return the texts of the scenario."""
    return kit.load_texts(__file__)


def draw_round_amount(stream: kit.Stream, low: int, high: int) -> int:
    """Draw an amount of whole hundreds in [low, high]."""
    return STEP_CENTS * stream.integer(-(-low // STEP_CENTS), high // STEP_CENTS)


def add_lines(build: kit.BuildContext) -> Transfer:
    """Add the lines, and draw what is to be moved between them."""
    world, stream = build.world, build.stream
    variant, drawn = stream.choice(list(Variant)), stream.choice(list(RefusalGround))
    ground = drawn if build.must_refuse else None
    limit, reserve = draw_round_amount(stream, *CONTROLLER_LIMIT_CENTS), draw_round_amount(stream, *RESERVE_CENTS)
    is_large = variant is not Variant.WHOLE or stream.chance(0.5)
    low, high = LARGE_SHARES if is_large else SMALL_SHARES
    amount = draw_round_amount(stream, limit * low // 100, limit * high // 100)
    nature = stream.choice(NATURES)
    other = next(one for one in NATURES if one != nature)
    first, second = stream.sample(texts()["purposes"], 2)
    free = amount + (
        draw_round_amount(stream, 0, reserve - STEP_CENTS) if ground is RefusalGround.TOO_LITTLE else reserve
    )
    if ground is not RefusalGround.TOO_LITTLE:
        free += draw_round_amount(stream, 0, 2_000_000)
    giver = _line(build, first, nature, free=free)
    taker = _line(
        build, second, other if ground is RefusalGround.MIXED else nature, free=draw_round_amount(stream, 0, 900_000)
    )
    lookalike = None
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        fields = {**giver.fields, "cost_center": f"CC-{stream.integer(5000, 5999)}"}
        fields["spent_cents"] += stream.integer(1, 9) * STEP_CENTS
        lookalike = replace(giver, id=world.ids.take("BUD"), fields=fields)
        world.datahub.records.append(lookalike)
    others = [one.id for one in world.staff.active() if one.id not in (giver.owner_id, world.agent_id)]
    is_owner = ground is not RefusalGround.NOT_THE_OWNER
    return Transfer(
        variant=variant,
        ground=ground,
        giver=giver,
        taker=taker,
        lookalike=lookalike,
        reporter_id=giver.owner_id if is_owner and giver.owner_id else stream.choice(others),
        amount_cents=amount,
        limit_cents=limit,
        reserve_cents=reserve,
    )


def _line(build: kit.BuildContext, purpose: str, nature: str, *, free: int) -> kit.RecordRow:
    world, stream = build.world, build.stream
    committed, spent = draw_round_amount(stream, 100_000, 3_000_000), draw_round_amount(stream, 100_000, 3_000_000)
    owners = [one for one in world.staff.active() if one.team_id not in (kit.FINANCE, kit.EXECUTIVE)]
    line = build.file_record(
        "budget_line",
        title=f"Budget: {purpose}",
        state="active",
        day=build.working_day_ago(10, 60),
        owner_id=stream.choice(owners).id,
        fields={
            "cost_center": f"CC-{stream.integer(1000, 4999)}",
            "fiscal_year": world.today.year,
            "nature": nature,
            "budget_cents": free + committed + spent,
            "committed_cents": committed,
            "spent_cents": spent,
        },
    )
    line.currency = kit.CURRENCY
    return line


@dataclass(frozen=True, kw_only=True)
class _TransferRequest:
    """One request for a transfer."""

    giver: kit.RecordRow
    taker: kit.RecordRow
    amount_cents: int
    by: str
    day: date


def add_partial_requests(
    build: kit.BuildContext, transfer: Transfer, *, window_days: int, ordered_on: date
) -> Transfer:
    """Add requests for parts of the amount and unrelated ones; return the transfer with its parts."""
    world, stream = build.world, build.stream
    colleagues = [one.id for one in world.staff.active(kit.FINANCE) if not one.roles and one.id != world.agent_id]
    days = _days(ordered_on, 1, window_days)
    own: list[kit.RequestRow] = []
    others: list[kit.RequestRow] = []
    for number, amount in enumerate(_amounts(stream, transfer)):
        is_own = transfer.variant is Variant.OWN_PARTS or (transfer.variant is Variant.BOTH and number % 2 == 0)
        by, day = world.agent_id if is_own else stream.choice(colleagues), stream.choice(days)
        part = _TransferRequest(giver=transfer.giver, taker=transfer.taker, amount_cents=amount, by=by, day=day)
        (own if is_own else others).append(_add(build, part))
    for ask in _unrelated_requests(build, transfer, colleagues, window_days=window_days, ordered_on=ordered_on):
        _add(build, ask)
    _renumber(world)
    own_parts, others_parts = (tuple(row.id for row in rows) for rows in (own, others))
    return replace(transfer, own_parts=own_parts, others_parts=others_parts)


def _amounts(stream: kit.Stream, transfer: Transfer) -> list[int]:
    """Split the amount into parts, each of which stays below the limit."""
    if transfer.variant is Variant.WHOLE:
        return []
    whole, limit = transfer.amount_cents // STEP_CENTS, transfer.limit_cents // STEP_CENTS
    count = -(-whole // limit) + (1 if transfer.variant is Variant.BOTH or stream.chance(0.4) else 0)
    shares = [whole // count] * count
    shares[0] += whole - sum(shares)
    for place in range(count - 1):
        slack = min(shares[place] - 1, limit - shares[place + 1], shares[place] // 4)
        moved = stream.integer(0, max(0, slack))
        shares[place] -= moved
        shares[place + 1] += moved
    return [share * STEP_CENTS for share in shares]


def _unrelated_requests(
    build: kit.BuildContext, transfer: Transfer, colleagues: Sequence[str], *, window_days: int, ordered_on: date
) -> list[_TransferRequest]:
    """Return requests of others that are none of the transfer's: another line, the other way round, long ago."""
    world, stream = build.world, build.stream
    giver, taker = transfer.giver, transfer.taker
    lines = [row for row in world.datahub.records if row.kind == "budget_line" and row.id not in (giver.id, taker.id)]
    recent, old = _days(ordered_on, 1, window_days), _days(ordered_on, window_days + 2, OLDEST_DAYS)

    def ask(one: kit.RecordRow, other: kit.RecordRow, days: Sequence[date]) -> _TransferRequest:
        amount, by = draw_round_amount(stream, 200_000, transfer.limit_cents), stream.choice(colleagues)
        return _TransferRequest(giver=one, taker=other, amount_cents=amount, by=by, day=stream.choice(days))

    return [
        ask(giver, transfer.lookalike or stream.choice(lines), recent),
        ask(taker, giver, recent),
        ask(giver, taker, old),
    ]


def _add(build: kit.BuildContext, ask: _TransferRequest) -> kit.RequestRow:
    """Add a request that waits for an answer of whoever made it."""
    world, stream = build.world, build.stream
    words = texts()["requests"]
    submitted_at = min(kit.draw_office_time(stream, ask.day), world.last_evening - timedelta(hours=2))
    controller = stream.choice(world.staff.holders(kit.Role.FINANCE_CONTROLLER))
    request = kit.RequestRow(
        id="",
        type_key=TYPE_KEY,
        subject=f"{ask.giver.id}-{ask.taker.id}-{ask.amount_cents // STEP_CENTS}-{len(world.approvalflow.requests)}",
        ticket_ref=None,
        requester_id=ask.by,
        approver_id=controller.id,
        status="info_requested",
        fields={"from_line": ask.giver.id, "to_line": ask.taker.id, "amount_cents": ask.amount_cents},
        justification=stream.choice(words["justifications"]),
        submitted_at=submitted_at,
        decided_at=None,
        expires_at=submitted_at + timedelta(minutes=kit.EXPIRES_AFTER_MINUTES),
    )
    world.approvalflow.requests.append(request)
    world.approvalflow.decisions.append(
        kit.DecisionRow(
            id="",
            request_id="",
            kind="info_requested",
            by=controller.id,
            at=kit.draw_office_moments(stream, submitted_at, world.latest_after(submitted_at))[0],
            reason_code="more_information",
            reason=stream.choice(words["questions"]),
        )
    )
    return request


def _renumber(world: kit.WorldBuilder) -> None:
    """Number the new requests after those that were there, and their decisions with them."""
    rows, decisions = world.approvalflow.requests, [one for one in world.approvalflow.decisions if not one.id]
    new = [row for row in rows if not row.id]
    last = max(int(row.id.rpartition("-")[2]) for row in rows if row.id)
    pairs = sorted(zip(new, decisions, strict=True), key=lambda pair: pair[0].submitted_at)
    for count, (row, decision) in enumerate(pairs, start=1):
        row.id = f"APR-{last + count}"
        decision.id, decision.request_id = f"{row.id}-D1", row.id


def _days(before: date, least: int, most: int) -> list[date]:
    """Return the working days that lie so many days before a day."""
    days = [before - timedelta(days=count) for count in range(least, most + 1)]
    return [day for day in days if kit.is_working_day(day)]
