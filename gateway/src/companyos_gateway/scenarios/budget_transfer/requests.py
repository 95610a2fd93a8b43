"""Requests that stand already: the same transfer in parts, and what only looks like a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from companyos_gateway.scenarios.budget_transfer.case import TYPE_KEY, Shape
from companyos_gateway.scenarios.budget_transfer.lines import STEP_CENTS, Transfer, hundreds, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.calendar import into_office, is_working_day, office_moment
from companyos_gateway.world.documents.approvalflow import DecisionRow, RequestRow
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

WINDOW_DAYS = (5, 8)
"""Within how many days requests for the same are parts of it."""

OLDEST_DAYS = 14
"""From how long ago a request may be that is none; it has not expired on the first morning."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of the transfer by who has asked for them."""

    own: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Ask:
    """One request for a transfer."""

    giver: RecordRow
    taker: RecordRow
    amount_cents: int
    by: str
    day: date


def add_requests(world: World, stream: Stream, transfer: Transfer, *, window_days: int, ordered_on: date) -> Parts:
    """Add the parts where there are some, and requests that are none of them."""
    colleagues = [one.id for one in world.staff.active(FINANCE) if not one.roles and one.id != world.agent_id]
    days = _days(ordered_on, 1, window_days)
    own: list[RequestRow] = []
    others: list[RequestRow] = []
    for number, amount in enumerate(_amounts(stream, transfer)):
        is_own = transfer.shape is Shape.OWN_PARTS or (transfer.shape is Shape.BOTH and number % 2 == 0)
        by = world.agent_id if is_own else stream.choice(colleagues)
        ask = _Ask(giver=transfer.giver, taker=transfer.taker, amount_cents=amount, by=by, day=stream.choice(days))
        (own if is_own else others).append(_add(world, stream, ask))
    for ask in _strangers(world, stream, transfer, colleagues, window_days=window_days, ordered_on=ordered_on):
        _add(world, stream, ask)
    _number(world)
    return Parts(own=tuple(row.id for row in own), others=tuple(row.id for row in others))


def _amounts(stream: Stream, transfer: Transfer) -> list[int]:
    """Split the amount into parts, each of which stays below the limit."""
    if transfer.shape is Shape.WHOLE:
        return []
    whole, limit = transfer.amount_cents // STEP_CENTS, transfer.limit_cents // STEP_CENTS
    count = -(-whole // limit) + (1 if transfer.shape is Shape.BOTH or stream.chance(0.4) else 0)
    shares = [whole // count] * count
    shares[0] += whole - sum(shares)
    for place in range(count - 1):
        slack = min(shares[place] - 1, limit - shares[place + 1], shares[place] // 4)
        moved = stream.integer(0, max(0, slack))
        shares[place] -= moved
        shares[place + 1] += moved
    return [share * STEP_CENTS for share in shares]


def _strangers(
    world: World, stream: Stream, transfer: Transfer, colleagues: Sequence[str], *, window_days: int, ordered_on: date
) -> list[_Ask]:
    """Return requests of others that are none of the transfer's: another line, the other way round, long ago."""
    giver, taker = transfer.giver, transfer.taker
    lines = [row for row in world.hub.records if row.kind == "budget_line" and row.id not in (giver.id, taker.id)]
    recent, old = _days(ordered_on, 1, window_days), _days(ordered_on, window_days + 2, OLDEST_DAYS)

    def ask(one: RecordRow, other: RecordRow, days: Sequence[date]) -> _Ask:
        amount, by = hundreds(stream, 200_000, transfer.limit_cents), stream.choice(colleagues)
        return _Ask(giver=one, taker=other, amount_cents=amount, by=by, day=stream.choice(days))

    return [
        ask(giver, transfer.twin or stream.choice(lines), recent),
        ask(taker, giver, recent),
        ask(giver, taker, old),
    ]


def _add(world: World, stream: Stream, ask: _Ask) -> RequestRow:
    """Add a request that waits for an answer of whoever made it."""
    words = texts()["requests"]
    submitted_at = min(office_moment(stream, ask.day), world.started_at - timedelta(hours=20))
    controller = stream.choice(world.staff.holders(Role.FINANCE_CONTROLLER))
    request = RequestRow(
        id="",
        type_key=TYPE_KEY,
        subject=f"{ask.giver.id}-{ask.taker.id}-{ask.amount_cents // STEP_CENTS}-{len(world.flow.requests)}",
        ticket_ref=None,
        requester_id=ask.by,
        approver_id=controller.id,
        status="info_requested",
        fields={"from_line": ask.giver.id, "to_line": ask.taker.id, "amount_cents": ask.amount_cents},
        justification=stream.choice(words["justifications"]),
        submitted_at=submitted_at,
        decided_at=None,
        expires_at=submitted_at + timedelta(minutes=EXPIRES_AFTER_MINUTES),
    )
    world.flow.requests.append(request)
    world.flow.decisions.append(
        DecisionRow(
            id="",
            request_id="",
            kind="info_requested",
            by=controller.id,
            at=min(into_office(submitted_at + timedelta(minutes=stream.integer(60, 300))), _latest(world)),
            reason_code="more_information",
            reason=stream.choice(words["questions"]),
        )
    )
    return request


def _latest(world: World) -> datetime:
    return world.started_at - timedelta(minutes=30)


def _number(world: World) -> None:
    """Number the new requests after those that were there, and their decisions with them."""
    rows, decisions = world.flow.requests, [one for one in world.flow.decisions if not one.id]
    new = [row for row in rows if not row.id]
    last = max(int(row.id.rpartition("-")[2]) for row in rows if row.id)
    pairs = sorted(zip(new, decisions, strict=True), key=lambda pair: pair[0].submitted_at)
    for count, (row, decision) in enumerate(pairs, start=1):
        row.id = f"APR-{last + count}"
        decision.id, decision.request_id = f"{row.id}-D1", row.id


def _days(before: date, least: int, most: int) -> list[date]:
    """Return the working days that lie so many days before a day."""
    days = [before - timedelta(days=count) for count in range(least, most + 1)]
    return [day for day in days if is_working_day(day)]
