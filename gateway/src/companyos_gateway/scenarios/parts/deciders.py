"""Who decides: holders of a role with those who stand in, dead ends on the way to them, and how the deciding goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.world.approvals import add_delegation
from companyos_gateway.world.calendar import closing_of, working_days_from
from companyos_gateway.world.documents.approvalflow import (
    ApprovalTypeRow,
    FieldSpecRow,
    FieldType,
    ReactionKind,
    ReactionRow,
)
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_shared.streams import Stream
from companyos_shared.wire.company import AbsenceKind, Role

AWAY_WORKING_DAYS = (19, 25)
"""For how long an absent approver stays away: beyond the ticket's due date."""

STANDS_IN_WORKING_DAYS = (30, 45)
SLOW_MINUTES = (480, 900)
DEPUTY_DUTIES: tuple[Kind, ...] = (Kind.DELEGATE_OUT_TOO, Kind.EXPIRED_DELEGATION, Kind.LIMIT_TOO_LOW)
"""Dead ends in the order in which the directory's deputy walks into them."""


@dataclass(frozen=True)
class Chain:
    """Who may decide all through the story, and where the dead ends are."""

    approver_ids: tuple[str, ...]
    dead_ends: dict[Kind, str]


@dataclass(frozen=True, kw_only=True)
class Deciding:
    """What is to be decided, and by whom.

    `bench` are people who could stand in, at least five; `other_types` are types that a delegation may be about as
    well.
    """

    type_key: str
    role: Role
    holder_ids: Sequence[str]
    amount_cents: int
    bench: Collection[str]
    other_types: Sequence[str]


def add_chain(world: World, stream: Stream, deciding: Deciding, kinds: Collection[Kind]) -> Chain:
    """Add who stands in for the holders. Where they are away one delegate is at work all the time.

    Where an approver leaves, somebody who may decide today is away from the next working day on: the first holder, or a
    further delegate where the holders are away already.
    """
    holders = list(deciding.holder_ids)
    first = holders[0]
    bench = stream.shuffled(sorted(set(deciding.bench) - {*holders, world.agent_id}))
    world.flow.delegations = [row for row in world.flow.delegations if row.from_id not in holders]
    for holder_id in holders:
        world.keep_in_office(holder_id)
    leaves = Kind.APPROVER_LEAVES in kinds
    if Kind.APPROVER_OUT_OF_OFFICE not in kinds:
        world.staff.give_deputy(first, deciding.role, bench[0])
        return _without_first(world, stream, deciding, bench[0]) if leaves else Chain(tuple(holders), {})
    for holder_id in holders:
        _send_away(world, stream, holder_id)
    delegate_id = bench.pop()
    world.keep_in_office(delegate_id)
    _delegate(world, stream, deciding, delegate_id, limit_cents=_generous(stream, deciding.amount_cents))
    dead_ends = {kind: bench.pop() for kind in DEPUTY_DUTIES if kind in kinds}
    for kind, person_id in dead_ends.items():
        _lead_nowhere(world, stream, deciding, kind, person_id=person_id)
    if leaves:
        dead_ends[Kind.APPROVER_LEAVES] = leaver_id = bench.pop()
        _delegate(world, stream, deciding, leaver_id, limit_cents=_generous(stream, deciding.amount_cents))
        _send_away(world, stream, leaver_id, from_tomorrow=True)
    deputy_id = next(iter(dead_ends.values()), delegate_id)
    world.staff.give_deputy(first, deciding.role, deputy_id)
    return Chain((delegate_id,), dead_ends)


def plan_reactions(
    world: World,
    stream: Stream,
    *,
    type_key: str,
    subject: str,
    words: Mapping[str, Any],
    kinds: Collection[Kind],
) -> None:
    """Plan the decisions that differ from the honest one, in a drawn order; the next after them is honest."""
    turns: list[tuple[ReactionKind, dict[str, str]]] = []
    if Kind.INFORMATION_REQUEST in kinds:
        turns.append(("request_info", stream.choice(words["questions"])))
    if Kind.RANDOM_REJECTION in kinds:
        turns.append(("reject", stream.choice(words["rejections"])))
    if Kind.EXPIRED_CERTIFICATE in kinds:
        turns.append(("request_info", words["certificate"]))
    turns = stream.shuffled(turns)
    is_slow = not {Kind.SLOW_DECISION, Kind.APPROVER_LEAVES}.isdisjoint(kinds)
    slow = stream.integer(*SLOW_MINUTES) if is_slow else 0
    if slow and not turns:
        turns.append(("slow", {}))
    for n, (kind, said) in enumerate(turns, start=1):
        world.flow.reactions.append(
            ReactionRow(
                id=f"reaction-{subject}-{n}",
                type_key=type_key,
                subject=subject,
                n=n,
                kind=kind,
                reason_code=said.get("code"),
                reason=said.get("reason", ""),
                extra_minutes=slow if n == 1 else 0,
            )
        )


def put_type(world: World, row: ApprovalTypeRow) -> None:
    """Add an approval type, in the place of the company's usual one of that key where there is one."""
    types = world.flow.approval_types
    place = next((number for number, one in enumerate(types) if one.key == row.key), len(types))
    types[place : place + 1] = [row]


def field_spec(name: str, kind: FieldType, description: str, *, names_beneficiary: bool = False) -> FieldSpecRow:
    """Return a field that a request must have."""
    return FieldSpecRow(
        name=name, type=kind, required=True, description=description, names_beneficiary=names_beneficiary
    )


def leads_and_finance(world: World) -> set[str]:
    """Return who could stand in for an executive: people of Finance and heads of other departments."""
    leads = [world.staff.lead(team.id).id for team in world.staff.teams if team.id not in ("executive-office",)]
    finance = [one.id for one in world.staff.active(FINANCE)]
    return {*leads, *finance}


def members(world: World, *team_ids: str) -> set[str]:
    """Return who works in the teams and holds no role."""
    return {one.id for team_id in team_ids for one in world.staff.active(team_id) if not one.roles}


def _without_first(world: World, stream: Stream, deciding: Deciding, delegate_id: str) -> Chain:
    """Let the first holder leave tomorrow, and a delegate stand in from before the start."""
    first = deciding.holder_ids[0]
    world.keep_in_office(delegate_id)
    _delegate(world, stream, deciding, delegate_id, limit_cents=_generous(stream, deciding.amount_cents))
    _send_away(world, stream, first, from_tomorrow=True)
    return Chain((delegate_id,), {Kind.APPROVER_LEAVES: first})


def _send_away(world: World, stream: Stream, person_id: str, *, from_tomorrow: bool = False) -> None:
    """Let a person be away for long: since some days ago, or from the next working day on."""
    first_day = working_days_from(world.today, 1 if from_tomorrow else -stream.integer(1, 6))
    last_day = working_days_from(world.today, stream.integer(*AWAY_WORKING_DAYS))
    kind = stream.choice([AbsenceKind.VACATION, AbsenceKind.SICK, AbsenceKind.PARENTAL])
    world.send_away(person_id, first_day=first_day, last_day=last_day, kind=kind)


def _delegate(
    world: World, stream: Stream, deciding: Deciding, person_id: str, *, limit_cents: int | None, is_over: bool = False
) -> None:
    starts_at = closing_of(working_days_from(world.today, -stream.integer(8, 14)))
    ends_at = closing_of(working_days_from(world.today, stream.integer(*STANDS_IN_WORKING_DAYS)))
    revoked_at = None
    if is_over:
        over_at = closing_of(working_days_from(world.today, -stream.integer(1, 4)))
        revoked_at = over_at if stream.chance(0.4) else None
        ends_at = ends_at if revoked_at else over_at
    add_delegation(
        world,
        deciding.holder_ids[0],
        person_id,
        type_keys=stream.choice(_scopes(stream, deciding)),
        limit_cents=limit_cents,
        starts_at=starts_at,
        ends_at=ends_at,
        revoked_at=revoked_at,
    )


def _scopes(stream: Stream, deciding: Deciding) -> Sequence[Sequence[str]]:
    own = deciding.type_key
    return [[], [own], sorted([own, stream.choice(deciding.other_types)])]


def _generous(stream: Stream, amount_cents: int) -> int | None:
    return None if stream.chance(0.4) else amount_cents + rounded_amount(stream, 0, 30_000_000)


def _lead_nowhere(world: World, stream: Stream, deciding: Deciding, kind: Kind, *, person_id: str) -> None:
    world.keep_in_office(person_id)
    if kind is Kind.LIMIT_TOO_LOW:
        short = deciding.amount_cents - rounded_amount(stream, 500, deciding.amount_cents // 2)
        _delegate(world, stream, deciding, person_id, limit_cents=short)
        return
    limit = _generous(stream, deciding.amount_cents)
    _delegate(world, stream, deciding, person_id, limit_cents=limit, is_over=kind is Kind.EXPIRED_DELEGATION)
    if kind is Kind.DELEGATE_OUT_TOO:
        _send_away(world, stream, person_id)
