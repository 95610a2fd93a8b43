"""The queue: the tickets that came in under a tag with doubles and look-alikes, and what only seems to be of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.backlog_triage.case import RefusalGround
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES, PolicyParameters, draw_other_priority
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.seed_documents.ticketdesk import Priority, Status, TicketRow
from companyos_shared.streams import Stream

TYPES = ("incident", "bug", "change", "request", "task")
ORIGINALS = (4, 6)
FEWEST_TICKETS = (2, 3)
"""How many there are where that is too few for a sweep."""

DUE_IN_WORKING_DAYS = (5, 11)
RAISED_FROM = (15, 60)
"""From how many affected people on a ticket is raised."""


@dataclass(kw_only=True)
class Item:
    """A ticket about a fault of an asset; `original` is the one that it doubles."""

    type: str
    asset: str
    fault: int
    people: int
    status: Status | None
    original: Item | None = None
    is_ours: bool = True
    """Whether the sweep is about it."""
    row: TicketRow | None = None

    @property
    def ticket(self) -> TicketRow:
        """The ticket, once it is written."""
        assert self.row is not None
        return self.row

    def level(self, figures: PolicyParameters) -> Priority:
        """Return the priority that the figures of a policy ask for."""
        place = PRIORITIES.index(figures[f"{self.type}_priority"])
        is_raised: bool = self.people >= figures["raise_from_people"]
        return PRIORITIES[min(place + is_raised, len(PRIORITIES) - 1)]


@dataclass(frozen=True, kw_only=True)
class TicketQueue:
    """The tickets under the tag, oldest first."""

    team_id: str
    tag: str
    items: tuple[Item, ...]
    look_alike: Item | None

    @property
    def in_scope(self) -> tuple[Item, ...]:
        """Those that the sweep is about."""
        return tuple(item for item in self.items if item.is_ours)

    @property
    def kept(self) -> tuple[Item, ...]:
        """Those of them that stay."""
        return tuple(item for item in self.in_scope if item.original is None)


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def draw_scale(stream: Stream) -> PolicyParameters:
    """Draw the priority of each type, and from how many affected people on it is one higher."""
    levels = {f"{kind}_priority": stream.choice(PRIORITIES) for kind in TYPES}
    return {**levels, "raise_from_people": stream.integer(*RAISED_FROM)}


def add_tagged_tickets(
    world: WorldBuilder,
    stream: Stream,
    team_id: str,
    scale: PolicyParameters,
    *,
    kinds: Collection[Kind],
    ground: RefusalGround | None,
) -> TicketQueue:
    """Add the tickets under a tag, and one of another team with the same tag."""
    tag = stream.choice(texts()["tags"])
    draft = _QueueDrawer(stream, scale)
    items = draft.items(kinds, is_few=ground is RefusalGround.TOO_FEW)
    slots = recent_key_slots(world, stream, team_id, len(items))
    for item, slot in zip(items, slots, strict=True):
        item.row = _write(world, stream, item, slot, team_id=team_id, tag=tag)
    for item in items:
        _set_history(world, stream, item, scale, kinds=kinds)
    _add_elsewhere(world, stream, draft, team_id=team_id, tag=tag)
    return TicketQueue(team_id=team_id, tag=tag, items=tuple(items), look_alike=draft.look_alike)


class _QueueDrawer:
    """Draws what the tickets are about."""

    def __init__(self, stream: Stream, scale: PolicyParameters) -> None:
        self._stream = stream
        self._bar: int = scale["raise_from_people"]
        self._pairs = iter(stream.shuffled(texts()["assets"]))
        self._faults = iter(stream.distinct(1100, 9899, 40))
        self.look_alike: Item | None = None

    def items(self, kinds: Collection[Kind], *, is_few: bool) -> list[Item]:
        """Draw the tickets in the order in which they came in; a double comes after its original."""
        stream = self._stream
        kept = [self.fault() for _ in range(stream.integer(*(FEWEST_TICKETS if is_few else ORIGINALS)))]
        doubled = stream.sample(kept, 1 if is_few else stream.integer(1, 2))
        if Kind.SIMILAR_NAMES in kinds and not is_few:
            kept += self._look_alikes(kept[0])
        in_work, settled = self.fault(status="in_progress"), self.fault(status="resolved")
        settled.asset, settled.fault = kept[-1].asset, kept[-1].fault
        order = stream.shuffled([*kept, in_work])
        for original in [*doubled, *([in_work] if Kind.DUPLICATE_TICKET in kinds and not is_few else [])]:
            place = stream.integer(order.index(original) + 1, len(order))
            order.insert(place, self._double(original))
        return [settled, *order]

    def fault(self, *, status: Status | None = None) -> Item:
        """Draw a fault of an asset that nobody has named yet; it is the sweep's unless somebody works on it."""
        is_ours = status is None
        drawn = self._stream.choice((None, None, "open")) if is_ours else status
        return self._item(self._stream.choice(next(self._pairs)), next(self._faults), drawn, is_ours=is_ours)

    def _item(self, asset: str, fault: int, status: Status | None, *, is_ours: bool = True) -> Item:
        stream = self._stream
        low, high = stream.choice([(2, self._bar - 1), (self._bar, 3 * self._bar)])
        people, kind = stream.integer(low, high), stream.choice(TYPES)
        return Item(type=kind, asset=asset, fault=fault, people=people, status=status, is_ours=is_ours)

    def _double(self, original: Item) -> Item:
        item = self._item(original.asset, original.fault, self._stream.choice((None, "open")))
        item.original = original
        return item

    def _look_alikes(self, of: Item) -> Iterator[Item]:
        """Yield another fault of the same asset, and the same fault of one of nearly the same name."""
        pair = next(pair for pair in texts()["assets"] if of.asset in pair)
        other = next(name for name in pair if name != of.asset)
        self.look_alike = self._item(other, of.fault, None)
        yield self.look_alike
        yield self._item(of.asset, next(self._faults), self._stream.choice((None, "open")))


def _write(world: WorldBuilder, stream: Stream, item: Item, slot: KeySlot, *, team_id: str, tag: str) -> TicketRow:
    words, reporters = texts(), world.present(slot.created_at.date())
    fill = {"asset": item.asset, "fault": item.fault, "people": item.people}
    ticket = TicketRow(
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
        due_at=closing_time(working_days_from(world.today, stream.integer(*DUE_IN_WORKING_DAYS))),
    )
    world.ticketdesk.tickets.append(ticket)
    return ticket


def _set_history(
    world: WorldBuilder, stream: Stream, item: Item, scale: PolicyParameters, *, kinds: Collection[Kind]
) -> None:
    """Give a ticket the priority and the assignee that it has so far, and the moves that led to its status."""
    ticket = item.ticket
    team = world.present(ticket.created_at.date(), team_id=ticket.team_id)
    if ticket.status is not None:
        ticket.priority = stream.choice([None, draw_other_priority(stream, item.level(scale))])
        ticket.assignee_id = stream.choice([None, stream.choice(team).id])
        gone = [one for one in world.staff.people if not one.is_employed(world.today) and not one.roles]
        leaver = stream.choice([one for one in gone if one.team_id == ticket.team_id] or gone)
        is_old = ticket.created_at < world.last_evening
        if Kind.DEPARTED_ASSIGNEE in kinds and stream.chance(0.5) and is_old:
            ticket.assignee_id = leaver.id
            world.postpone_departure(stream, leaver.id, world.last_evening)
    if not item.is_ours:
        ticket.assignee_id = stream.choice(team).id
    add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)


def _add_elsewhere(world: WorldBuilder, stream: Stream, draft: _QueueDrawer, *, team_id: str, tag: str) -> None:
    """Add a ticket of another team with the same tag; it is none of the sweep's."""
    other = stream.choice([team.id for team in world.staff.teams if team.id not in (team_id, "executive-office")])
    item = draft.fault()
    item.row = _write(world, stream, item, world.ticket_slots[other].pop(0), team_id=other, tag=tag)
    add_history(world, stream, item.ticket, item.ticket.reporter_id)
