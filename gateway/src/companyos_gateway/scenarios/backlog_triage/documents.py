"""A sweep: the tickets with a tag, with duplicates and similar ones, the owners of assets, and other sweeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

TAG = "triage"
"""The tag of the tickets that order a sweep."""

TYPES = ("incident", "bug", "change", "request", "task")
ORIGINALS = (4, 6)
TOO_FEW_TICKETS = (2, 3)
"""Range of the number of tickets that is too low for a sweep."""

DUE_IN_WORKING_DAYS = (5, 11)
RAISED_FROM = range(15, 61, 5)
"""Possible numbers of affected people from which a ticket's priority is raised."""

URGENT: tuple[kit.Priority, ...] = ("high", "critical")
STEADY = 2
"""Number of team members, besides the lead, who are always present."""

Words = Mapping[str, Any]


class Variant(StrEnum):
    """Variant of the case: tickets go to anyone in the team, to owners of assets, or to the lead if urgent."""

    SPREAD = "spread"
    OWNERS = "owners"
    LEAD = "lead"


class RefusalGround(StrEnum):
    """Ground for refusing a sweep; the value is the policy's reason code."""

    TOO_FEW = "requirement_not_met"
    NOT_ORDERED = "not_entitled"
    TWICE = "duplicate"


@dataclass(kw_only=True)
class Item:
    """A ticket about a fault of an asset; `original` is the one that it duplicates."""

    type: str
    asset: str
    fault: int
    people: int
    status: kit.Status | None
    original: Item | None = None
    is_ours: bool = True
    """True if the sweep covers the ticket."""
    row: kit.TicketRow | None = None

    @property
    def ticket(self) -> kit.TicketRow:
        """The row of the ticket, which must have been added."""
        assert self.row is not None
        return self.row

    def level(self, figures: kit.Figures) -> kit.Priority:
        """Return the priority that the figures of a policy require."""
        place = kit.PRIORITIES.index(figures[f"{self.type}_priority"])
        is_raised: bool = self.people >= figures["raise_from_people"]
        return kit.PRIORITIES[min(place + is_raised, len(kit.PRIORITIES) - 1)]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep of the tickets with a tag, oldest first, with priorities by type.

    `owners` maps assets to owners if the policy assigns by owner, and `most_each` is the maximum number of tickets per
    person if it spreads them. `other_key` is another sweep in progress.
    """

    variant: Variant
    ground: RefusalGround | None
    team_id: str
    tag: str
    scale: kit.Figures
    items: tuple[Item, ...]
    lookalike: Item | None
    owners: Mapping[str, str]
    most_each: int | None
    lead_id: str
    ordered_by: str
    other_key: str
    goals: tuple[kit.TicketGoal, ...] = ()

    @property
    def in_scope(self) -> tuple[Item, ...]:
        """The tickets that the sweep covers."""
        return tuple(item for item in self.items if item.is_ours)

    @property
    def kept(self) -> tuple[Item, ...]:
        """The covered tickets that are not duplicates."""
        return tuple(item for item in self.in_scope if item.original is None)


def add_sweep(build: kit.BuildContext, words: Words, team_id: str) -> Sweep:
    """Add the tickets of a sweep, the cards of their assets, and another sweep; return the sweep."""
    world, stream = build.world, build.stream
    variant, ground = stream.choice(list(Variant)), build.draw_ground(RefusalGround)
    lead_id = world.staff.lead(team_id).id
    _keep_some_in_office(build.child("office"), team_id)
    scale: kit.Figures = draw_scale(stream) | {"raise_from_people": stream.choice(RAISED_FROM)}
    tag = stream.choice(words["tags"])
    drawer = _QueueDrawer(stream.child("queue"), words["assets"], scale["raise_from_people"])
    items = drawer.items(build.kinds, is_few=ground is RefusalGround.TOO_FEW)
    tickets = build.child("tickets")
    slots = kit.recent_key_slots(world, tickets.stream, team_id, len(items))
    for item, slot in zip(items, slots, strict=True):
        item.row = _write(tickets, words, item, slot, team_id=team_id, tag=tag)
    for item in items:
        _set_history(build, item, scale)
    _add_elsewhere(build.child("elsewhere"), words, drawer.fault(), team_id, tag)
    kept = [item for item in items if item.is_ours and item.original is None]
    others = [one.id for one in world.staff.active() if one.id not in (lead_id, world.agent_id)]
    return Sweep(
        variant=variant,
        ground=ground,
        team_id=team_id,
        tag=tag,
        scale=scale,
        items=tuple(items),
        lookalike=drawer.lookalike,
        owners=_add_asset_cards(build.child("owners"), items, kept) if variant is Variant.OWNERS else {},
        most_each=_fair_share(build, kept) if variant is Variant.SPREAD else None,
        lead_id=lead_id,
        ordered_by=stream.choice(others) if ground is RefusalGround.NOT_ORDERED else lead_id,
        other_key=_add_other_sweep(build.child("other"), words, team_id, tag, ground),
    )


def goals_of(world: kit.WorldBuilder, sweep: Sweep, figures: kit.Figures) -> tuple[kit.TicketGoal, ...]:
    """Return the goal of each ticket of the sweep. Absences must be final."""
    goals = []
    for item in sweep.in_scope:
        if item.original is not None:
            goals.append(kit.TicketGoal(key=item.ticket.key, original=item.original.ticket.key))
            continue
        level, held = item.level(figures), item.ticket.assignee_id
        may = _may_take(world, sweep, item, level)
        goals.append(kit.TicketGoal(key=item.ticket.key, priority=level, assignee_ids=(held,) if held in may else may))
    return tuple(goals)


class _QueueDrawer:
    """Draws the assets, faults and numbers of affected people for the tickets."""

    def __init__(self, stream: kit.Stream, assets: list[list[str]], raised_from: int) -> None:
        self._stream = stream
        self._raised_from = raised_from
        self._assets = assets
        self._pairs = iter(stream.shuffled(assets))
        self._faults = iter(stream.distinct(1100, 9899, 40))
        self.lookalike: Item | None = None

    def items(self, kinds: Collection[kit.Kind], *, is_few: bool) -> list[Item]:
        """Draw the tickets in order of creation; a duplicate comes after its original."""
        stream = self._stream
        kept = [self.fault() for _ in range(stream.integer(*(TOO_FEW_TICKETS if is_few else ORIGINALS)))]
        doubled = stream.sample(kept, 1 if is_few else stream.integer(1, 2))
        if kit.Kind.SIMILAR_NAMES in kinds and not is_few:
            kept += self._lookalikes(kept[0])
        in_work, settled = self.fault(status="in_progress"), self.fault(status="resolved")
        settled.asset, settled.fault = kept[-1].asset, kept[-1].fault
        order = stream.shuffled([*kept, in_work])
        for original in [*doubled, *([in_work] if kit.Kind.DUPLICATE_TICKET in kinds and not is_few else [])]:
            place = stream.integer(order.index(original) + 1, len(order))
            order.insert(place, self._double(original))
        return [settled, *order]

    def fault(self, *, status: kit.Status | None = None) -> Item:
        """Draw a fault of an asset that has none yet; the sweep covers it unless a status is given."""
        is_ours = status is None
        drawn = self._stream.choice((None, None, "open")) if is_ours else status
        return self._item(self._stream.choice(next(self._pairs)), next(self._faults), drawn, is_ours=is_ours)

    def _item(self, asset: str, fault: int, status: kit.Status | None, *, is_ours: bool = True) -> Item:
        stream = self._stream
        low, high = stream.choice([(2, self._raised_from - 1), (self._raised_from, 3 * self._raised_from)])
        people, kind = stream.integer(low, high), stream.choice(TYPES)
        return Item(type=kind, asset=asset, fault=fault, people=people, status=status, is_ours=is_ours)

    def _double(self, original: Item) -> Item:
        item = self._item(original.asset, original.fault, self._stream.choice((None, "open")))
        item.original = original
        return item

    def _lookalikes(self, of: Item) -> Iterator[Item]:
        """Yield the same fault of an asset with a similar name, and another fault of the same asset."""
        pair = next(pair for pair in self._assets if of.asset in pair)
        other = next(name for name in pair if name != of.asset)
        self.lookalike = self._item(other, of.fault, None)
        yield self.lookalike
        yield self._item(of.asset, next(self._faults), self._stream.choice((None, "open")))


def _write(
    build: kit.BuildContext, words: Words, item: Item, slot: kit.KeySlot, *, team_id: str, tag: str
) -> kit.TicketRow:
    world, stream = build.world, build.stream
    reporters = world.present(slot.created_at.date())
    fill = {"asset": item.asset, "fault": item.fault, "people": item.people}
    ticket = kit.TicketRow(
        key=slot.key,
        type=item.type,
        title=stream.choice(words["item_titles"]).format(**fill),
        description=stream.choice(words["item_texts"]).format(**fill),
        status=item.status,
        priority=None,
        assignee_id=None,
        reporter_id=stream.choice([one for one in reporters if one.id != world.agent_id]).id,
        team_id=team_id,
        tags=[tag],
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=kit.closing_time(build.working_day(*DUE_IN_WORKING_DAYS)),
    )
    world.ticketdesk.tickets.append(ticket)
    return ticket


def draw_scale(stream: kit.Stream) -> dict[str, kit.Priority]:
    """Draw the priority of each type: incidents have the highest, then bugs. Three of the four levels are used."""
    levels = stream.choice((kit.PRIORITIES[:3], kit.PRIORITIES[1:]))
    drawn = sorted([*levels, stream.choice(levels), stream.choice(levels)], key=kit.PRIORITIES.index, reverse=True)
    kinds = ("incident", "bug", *stream.shuffled([one for one in TYPES if one not in ("incident", "bug")]))
    return {f"{kind}_priority": level for kind, level in zip(kinds, drawn, strict=True)}


def shift_scale(scale: kit.Figures) -> dict[str, kit.Priority]:
    """Return a scale with another priority for every type: one level up, or down if one of them is critical."""
    levels = {f"{kind}_priority": kit.PRIORITIES.index(scale[f"{kind}_priority"]) for kind in TYPES}
    step = -1 if max(levels.values()) == len(kit.PRIORITIES) - 1 else 1
    return {name: kit.PRIORITIES[level + step] for name, level in levels.items()}


def _set_history(build: kit.BuildContext, item: Item, scale: kit.Figures) -> None:
    """Set the current priority and assignee of a ticket, and add the transitions that led to its status."""
    world, stream = build.world, build.stream
    ticket = item.ticket
    team = world.present(ticket.created_at.date(), team_id=ticket.team_id)
    if ticket.status is not None:
        ticket.priority = stream.choice([None, kit.draw_other_priority(stream, item.level(scale))])
        ticket.assignee_id = stream.choice([None, stream.choice(team).id])
        gone = [one for one in world.staff.people if not one.is_employed(world.today) and not one.roles]
        leaver = stream.choice([one for one in gone if one.team_id == ticket.team_id] or gone)
        is_old = ticket.created_at < world.last_evening
        if kit.Kind.DEPARTED_ASSIGNEE in build.kinds and stream.chance(0.5) and is_old:
            ticket.assignee_id = leaver.id
            world.postpone_departure(stream, leaver.id, world.last_evening)
    if not item.is_ours:
        ticket.assignee_id = stream.choice(team).id
    kit.add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)


def _add_elsewhere(build: kit.BuildContext, words: Words, item: Item, team_id: str, tag: str) -> None:
    """Add a ticket of another team with the same tag, which the sweep does not cover."""
    world, stream = build.world, build.stream
    other = stream.choice([team.id for team in world.staff.teams if team.id not in (team_id, "executive-office")])
    item.row = _write(build, words, item, world.ticket_slots[other].pop(0), team_id=other, tag=tag)
    kit.add_history(world, stream, item.ticket, item.ticket.reporter_id)


def _add_other_sweep(
    build: kit.BuildContext, words: Words, team_id: str, tag: str, ground: RefusalGround | None
) -> str:
    """Add a sweep that a colleague has started, of the same tickets if that is the ground; return its key."""
    world, stream = build.world, build.stream
    if ground is not RefusalGround.TWICE:
        tag = stream.choice([one for one in words["tags"] if one != tag])
    slot, lead = world.ticket_slots[team_id].pop(0), world.staff.lead(team_id)
    worker = stream.choice([one for one in world.staff.active(team_id) if one.id not in (lead.id, world.agent_id)])
    ticket = build.file_ticket(
        slot,
        title=stream.choice(words["titles"]).format(tag=tag),
        description=stream.choice(words["citations"]["name"]).format(tag=tag, person=worker.name),
        status="in_progress",
        priority="medium",
        assignee_id=worker.id,
        reporter_id=lead.id,
        team_id=team_id,
        tags=[TAG, "sweep"],
    )
    return ticket.key


def _keep_some_in_office(build: kit.BuildContext, team_id: str) -> None:
    """Remove the absences of a team's lead and of some members."""
    world, stream = build.world, build.stream
    lead = world.staff.lead(team_id)
    others = [one.id for one in world.staff.active(team_id) if one.id != lead.id]
    for person_id in [lead.id, *stream.sample(others, STEADY)]:
        world.remove_absences(person_id)


def _add_asset_cards(build: kit.BuildContext, items: list[Item], kept: list[Item]) -> dict[str, str]:
    """File the cards of assets with their owners, one of whom may be unable to take a ticket; return the owners."""
    world, stream = build.world, build.stream
    team_id = kept[0].ticket.team_id
    team = [one.id for one in world.staff.active(team_id)]
    owners = {asset: stream.choice(team) for asset in dict.fromkeys(item.asset for item in items)}
    unlucky, gone = stream.choice(kept), world.staff.departed(team_id)
    if gone and stream.chance(0.5):
        owners[unlucky.asset] = gone[0].id
    elif owners[unlucky.asset] not in (world.staff.lead(team_id).id, world.agent_id):
        assert unlucky.ticket.due_at is not None
        day = unlucky.ticket.due_at.date()
        first, last = day - timedelta(days=2), day + timedelta(days=3)
        world.set_absence(owners[unlucky.asset], first_day=first, last_day=last, kind=kit.AbsenceKind.VACATION)
    for asset in stream.shuffled(list(owners)):
        day, title, fields = build.working_day_ago(10, 55), f"Asset card: {asset}", {"asset": asset}
        build.file_document("asset_card", title, day=day, fields=fields, owner_id=owners[asset])
    return owners


def _may_take(world: kit.WorldBuilder, sweep: Sweep, item: Item, level: kit.Priority) -> tuple[str, ...]:
    able, lead_id = _available(world, item), world.staff.lead(sweep.team_id).id
    if sweep.variant is Variant.OWNERS:
        owner_id = sweep.owners[item.asset]
        return (owner_id,) if owner_id in able else (lead_id,)
    if sweep.variant is Variant.LEAD:
        return (lead_id,) if level in URGENT else tuple(one for one in able if one != lead_id)
    return able


def _available(world: kit.WorldBuilder, item: Item) -> tuple[str, ...]:
    assert item.ticket.due_at is not None
    return kit.available_assignees(world, item.ticket.team_id, item.ticket.due_at.date())


def _fair_share(build: kit.BuildContext, kept: list[Item]) -> int:
    """Return the maximum number of tickets per person; the people who are always present can take all of them."""
    world, stream = build.world, build.stream
    steady = set.intersection(*(set(_available(world, item)) for item in kept))
    share = -(-len(kept) // len(steady))
    held = Counter(item.ticket.assignee_id for item in kept if item.ticket.assignee_id in _available(world, item))
    return max([share + stream.integer(0, 1), *held.values()])
