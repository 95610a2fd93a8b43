"""The entry ticket of a task, its blocker and its duplicate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Blocker, BlockerResolution
from companyos_gateway.evaluation.checklist import ChecklistItem
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.checklist import BackingIds, Checklists, resolve_checklists
from companyos_gateway.scenarios.blocks.texts import capitalize_first
from companyos_gateway.world.backlog import add_checklist, add_comment, add_history
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_moments
from companyos_gateway.world.seed_documents.ticketdesk import LinkRow, Priority, Status, TicketDeskEvent, TicketRow
from companyos_shared.streams import Stream

DUE_IN_WORKING_DAYS = (12, 18)
WAIT_MINUTES = (120, 960)
"""Range of office minutes until a colleague resolves the blocker."""

WAIT_DAYS = timedelta(days=5)
"""Period that contains those office minutes."""

WRONG_STATUSES: tuple[Status, ...] = ("blocked", "in_review")
"""Wrong statuses of a ticket that nothing blocks and on which no work was done."""

REASSIGN_KINDS = frozenset({Kind.MISSING_ASSIGNEE, Kind.DEPARTED_ASSIGNEE, Kind.UNKNOWN_ASSIGNEE})


@dataclass(frozen=True, kw_only=True)
class TicketPlan:
    """Plan of a scenario's entry ticket.

    `titles` have no slots; `describe` draws the description; `fill` fills the slots in texts of the blocker and the
    duplicate; `words` contains the checklists, the blockers and the duplicate's comment of texts.toml.
    """

    team_id: str
    titles: Sequence[str]
    describe: Callable[[Stream], str]
    fill: Callable[[Stream, str], str]
    words: Mapping[str, Any]
    duplicate_texts: Sequence[str]
    tags: Sequence[str]
    duplicate_tags: Sequence[str]
    type: str
    due_in: tuple[int, int]
    statuses: Sequence[Status]
    """The possible statuses of a triaged ticket that nothing blocks."""
    slot: KeySlot
    """The ticket's key and creation time."""
    reporter_id: str | None
    """ID of the person who opened the ticket; drawn if None."""


@dataclass(frozen=True)
class TaskTicket:
    """The entry ticket with its related rows; IDs of links and items are known once the world is finished."""

    ticket: TicketRow
    checklists: Checklists
    due_on: date
    blocking_link: LinkRow | None
    resolution: BlockerResolution | None
    free_at: datetime
    """Time at which a colleague resolves the blocker; the start if the agent need not wait for that."""
    duplicate: TicketRow | None = None
    """Another ticket about the same thing."""

    @property
    def blocker(self) -> Blocker | None:
        """The blocker of the ticket and its correct resolution."""
        if self.blocking_link is None or self.resolution is None:
            return None
        return Blocker(
            key=self.blocking_link.from_key,
            link_id=self.blocking_link.id,
            resolution=self.resolution,
            free_at=self.free_at,
        )

    def open_items(self, world: WorldBuilder, ids: BackingIds) -> tuple[ChecklistItem, ...]:
        """Return the checklist items that are not done, with the rows that back them."""
        backing = resolve_checklists(world, self.checklists, {**ids, "ticket": (self.ticket.key,)})
        items = [one for one in world.ticketdesk.checklist_items if one.ticket_key == self.ticket.key]
        return tuple(ChecklistItem(one.id, backing[one.text]) for one in items if one.done_at is None)

    def case_fields(
        self, world: WorldBuilder, kinds: Collection[Kind], priority: Priority, backing_ids: BackingIds
    ) -> dict[str, Any]:
        """Return the fields of a TicketCase about the ticket. The world has to be finished."""
        ticket = self.ticket
        return {
            "agent_id": world.agent_id,
            "ticket_key": ticket.key,
            "team_id": ticket.team_id,
            "due_on": self.due_on,
            "open_items": self.open_items(world, backing_ids),
            "first_status": ticket.status,
            "needs_priority": ticket.priority is None,
            "needs_assignee": not REASSIGN_KINDS.isdisjoint(kinds),
            "assignee_ids": available_assignees(world, ticket.team_id, self.due_on),
            "priority": priority,
            "blocker": self.blocker,
        }


def add_task_ticket(build: BuildContext, plan: TicketPlan, *, priority: Priority) -> TaskTicket:
    """Add the entry ticket, with a blocker and a duplicate if those kinds apply."""
    world, kinds = build.world, build.kinds
    due_on = build.working_day(*plan.due_in)
    if not available_assignees(world, plan.team_id, due_on):
        world.remove_absences(next(one.id for one in world.staff.active(plan.team_id) if not one.roles))
    ticket = _new_ticket(build, plan, due_on)
    ticket.priority = None if Kind.MISSING_PRIORITY in kinds else priority
    _add_ticket(build, plan, ticket)
    duplicate = _add_duplicate(build, plan, ticket) if Kind.DUPLICATE_TICKET in kinds else None
    checklists = plan.words["checklists"]
    if Kind.BLOCKED_TICKET not in kinds:
        return TaskTicket(ticket, checklists, due_on, None, None, world.started_at, duplicate)
    resolution = build.stream.choice(_possible_resolutions(kinds))
    link = _add_blocker(build, plan, ticket, resolution)
    free_at = _plan_resolution(build, link.from_key) if resolution is BlockerResolution.WAIT else world.started_at
    return TaskTicket(ticket, checklists, due_on, link, resolution, free_at, duplicate)


def take_key_slot(world: WorldBuilder, stream: Stream, team_id: str) -> KeySlot:
    """Take one of the last two free keys of a team."""
    return world.ticket_slots[team_id].pop(-stream.integer(1, 2))


def set_agent(world: WorldBuilder, stream: Stream, team_id: str) -> None:
    """Make the agent act as a member of a team without a role."""
    candidates = [one.id for one in world.staff.active(team_id) if not one.roles]
    if not candidates:
        known = ", ".join(sorted(team.id for team in world.staff.teams))
        raise ValueError(f"team must be one of {known}, with members who have no role; got {team_id!r}")
    world.agent_id = stream.choice(candidates)


def available_assignees(world: WorldBuilder, team_id: str, due_on: date) -> tuple[str, ...]:
    """Return the possible assignees of a ticket: employees of the owning team who are present on the due date."""
    away = {absence.person_id for absence in world.absences if absence.first_day <= due_on <= absence.last_day}
    return tuple(one.id for one in world.staff.active(team_id) if one.id not in away)


def _possible_resolutions(kinds: Collection[Kind]) -> list[BlockerResolution]:
    """Return the possible resolutions of a blocker.

    An untriaged ticket is not in status blocked, so work on it could continue without waiting.
    """
    return [
        resolution
        for resolution in BlockerResolution
        if resolution is not BlockerResolution.WAIT or Kind.MISSING_STATUS not in kinds
    ]


def _new_ticket(build: BuildContext, plan: TicketPlan, due_on: date) -> TicketRow:
    stream, slot = build.stream, plan.slot
    status = _first_status(stream, plan, build.kinds)
    title, description = capitalize_first(stream.choice(plan.titles)), capitalize_first(plan.describe(stream))
    text = f"{title} {description}"
    ticket = TicketRow(
        key=slot.key,
        type=plan.type,
        title=title,
        description=description,
        status=status,
        priority=None,
        assignee_id=None,
        reporter_id=plan.reporter_id or draw_reporter(build.world, stream, slot.created_at, text),
        team_id=plan.team_id,
        tags=list(plan.tags),
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=closing_time(due_on),
    )
    ticket.assignee_id = _assignee(build, ticket, due_on)
    return ticket


def draw_reporter(world: WorldBuilder, stream: Stream, at: datetime, text: str) -> str:
    """Draw the reporter of a text: someone present, not named in the text, and not the agent."""
    present = [one for one in world.present(at.date()) if one.id != world.agent_id]
    return stream.choice([one for one in present if one.id not in text and one.name not in text]).id


def _add_ticket(build: BuildContext, plan: TicketPlan, ticket: TicketRow) -> None:
    world, stream = build.world, build.stream
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.reporter_id)
    steps = [item["text"] for item in stream.choice(list(plan.words["checklists"].values()))]
    done = stream.integer(0, len(steps) - 2)
    add_checklist(world, ticket, steps, done=done, by=ticket.reporter_id, at=ticket.updated_at)


def _first_status(stream: Stream, plan: TicketPlan, kinds: Collection[Kind]) -> Status | None:
    drawn = stream.choice(plan.statuses)
    if Kind.MISSING_STATUS in kinds:
        return None
    if Kind.WRONG_STATUS in kinds:
        return stream.child("wrong").choice(WRONG_STATUSES)
    return "blocked" if Kind.BLOCKED_TICKET in kinds else drawn


def _assignee(build: BuildContext, ticket: TicketRow, due_on: date) -> str | None:
    world, stream, kinds = build.world, build.stream, build.kinds
    usual = stream.choice(available_assignees(world, ticket.team_id, due_on))
    if Kind.MISSING_ASSIGNEE in kinds:
        return None
    if Kind.UNKNOWN_ASSIGNEE in kinds:
        return world.ids.take("E")
    if Kind.DEPARTED_ASSIGNEE not in kinds:
        return usual
    former_employees = [one for one in world.staff.people if not one.is_employed(world.today) and not one.roles]
    leaver = stream.choice([one for one in former_employees if one.team_id == ticket.team_id] or former_employees)
    world.postpone_departure(stream, leaver.id, ticket.created_at)
    return leaver.id


def _add_blocker(build: BuildContext, plan: TicketPlan, ticket: TicketRow, resolution: BlockerResolution) -> LinkRow:
    world, stream = build.world, build.stream
    entry = stream.choice([one for one in plan.words["blocker"] if one["way"] == resolution])
    team_id = entry["team"]
    slot = world.ticket_slots[team_id].pop()
    worker = stream.choice(world.present(world.today, world.today + WAIT_DAYS, team_id=team_id))
    title, description = plan.fill(stream, entry["title"]), plan.fill(stream, entry["description"])
    reporter = stream.choice(world.present(slot.created_at.date(), team_id=team_id))
    if reporter.name in f"{title} {description}":
        reporter = worker
    blocker = build.file_ticket(
        slot,
        title=title,
        description=description,
        status=entry["status"],
        priority="medium",
        assignee_id=worker.id,
        reporter_id=reporter.id,
        team_id=team_id,
        tags=[],
    )
    linked_at = max(blocker.created_at, ticket.created_at)
    [commented_at] = draw_office_moments(stream, max(linked_at, blocker.updated_at), world.last_evening)
    add_comment(world, blocker, author_id=worker.id, at=commented_at, body=entry["comment"])
    link = LinkRow(
        id="",
        kind="blocks",
        from_key=blocker.key,
        to_key=ticket.key,
        created_at=linked_at,
        created_by=ticket.reporter_id,
    )
    world.ticketdesk.links.append(link)
    return link


def _plan_resolution(build: BuildContext, key: str) -> datetime:
    """Plan that the blocker's assignee resolves it; return the time."""
    world = build.world
    due_at = world.company().add_office_minutes(world.started_at, build.stream.integer(*WAIT_MINUTES))
    by = next(ticket.assignee_id for ticket in world.ticketdesk.tickets if ticket.key == key)
    data = {"id": "transition-by-colleague", "ticket_key": key, "by": by, "to_status": "resolved"}
    world.ticketdesk.scheduled_events.append(TicketDeskEvent(due_at=due_at, kind="transition", data=data))
    return due_at


def _add_duplicate(build: BuildContext, plan: TicketPlan, ticket: TicketRow) -> TicketRow:
    """Add a ticket about the same thing by another reporter, and return it."""
    world, stream = build.world, build.stream
    slot = world.ticket_slots[plan.team_id].pop()
    title = stream.choice([title for title in map(capitalize_first, plan.titles) if title != ticket.title])
    texts = [capitalize_first(plan.fill(stream, text)) for text in plan.duplicate_texts]
    description = stream.choice([text for text in texts if text != ticket.description] or texts)
    duplicate = build.file_ticket(
        slot,
        type="request",
        title=title,
        description=description,
        status=stream.choice(["open", None]),
        priority=None,
        assignee_id=None,
        reporter_id=draw_reporter(world, stream, slot.created_at, f"{title} {description} {ticket.reporter_id}"),
        team_id=plan.team_id,
        tags=plan.duplicate_tags,
    )
    body = plan.words["double"]["comment"]
    later = max(ticket.updated_at, duplicate.updated_at)
    [commented_at] = draw_office_moments(stream, later, world.last_evening)
    add_comment(world, duplicate, author_id=ticket.reporter_id, at=commented_at, body=body)
    return duplicate
