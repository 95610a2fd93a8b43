"""Seed document of TicketDesk, its validation and its insertion into the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import Field, StringConstraints, model_validator
from sqlalchemy import insert

from companyos_shared.framework import Call, RequestModel, SeedDocument, UtcTime, insert_rows
from companyos_ticketdesk import tables
from companyos_ticketdesk.checklist.schemas import ChecklistItemSeed
from companyos_ticketdesk.comments.schemas import AnswerSeed, CommentSeed, PlannedComment
from companyos_ticketdesk.deferred_events import schedule_once_verified
from companyos_ticketdesk.links.schemas import LinkSeed
from companyos_ticketdesk.tickets.schemas import PlannedChange, PlannedTicket, TicketSeed
from companyos_ticketdesk.workflow.schemas import PlannedTransition, TransitionSeed

Prefix = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]*$")]


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


RowT = TypeVar("RowT", bound=RequestModel)


class _Planned(RequestModel):
    """Base of scheduled events of colleagues."""

    due_at: UtcTime
    once_verified: str | None = Field(None, description="Key of a ticket; the event waits until it is verified.")


class TicketEvent(_Planned):
    """A scheduled new ticket."""

    kind: Literal["ticket"]
    data: PlannedTicket


class CommentEvent(_Planned):
    """A scheduled comment."""

    kind: Literal["comment"]
    data: PlannedComment


class TransitionEvent(_Planned):
    """A scheduled transition."""

    kind: Literal["transition"]
    data: PlannedTransition


class ChangeEvent(_Planned):
    """A scheduled change of a ticket's priority, due time or tags."""

    kind: Literal["change"]
    data: PlannedChange


PlannedEvent = Annotated[TicketEvent | CommentEvent | TransitionEvent | ChangeEvent, Field(discriminator="kind")]


class Seed(SeedDocument):
    """Initial data of TicketDesk, and scheduled events of colleagues."""

    team_prefixes: dict[str, Prefix] = Field({}, description="Prefix of ticket keys by team id.")
    tickets: list[TicketSeed] = []
    checklist_items: list[ChecklistItemSeed] = []
    comments: list[CommentSeed] = []
    answers: list[AnswerSeed] = []
    links: list[LinkSeed] = []
    transitions: list[TransitionSeed] = []
    scheduled_events: list[PlannedEvent] = []

    @model_validator(mode="after")
    def _holds_together(self) -> Seed:
        for place, reference, known in self._references():
            if reference is not None and reference not in known:
                raise ValueError(f"{place}: unknown id {reference}")
        for place, ids in self.identities():
            if len(set(ids)) != len(ids):
                raise ValueError(f"{place}: ids must be unique")
        return self

    def _references(self) -> Iterator[tuple[str, str | None, frozenset[str]]]:
        """Yield (path, id, known ids). Assignees are not validated, because old tickets may name unknown people."""
        people = frozenset(person.id for person in self.company.people)
        teams = frozenset(team.id for team in self.company.teams)
        keys = frozenset(ticket.key for ticket in self._all_tickets())
        known = {
            **dict.fromkeys(_PERSON_FIELDS, people),
            **dict.fromkeys(_TICKET_FIELDS, keys),
            "team_id": teams,
            "after_transition": frozenset(_ids(_of(PlannedTransition, self._planned()))),
        }
        yield from ((f"team_prefixes.{team_id}", team_id, teams) for team_id in self.team_prefixes)
        for position, event in enumerate(self.scheduled_events):
            yield f"scheduled_events.{position}.once_verified", event.once_verified, keys
        for place, row in self._rows():
            for name in _reference_fields(type(row)):
                yield f"{place}.{name}", getattr(row, name), known[name]

    def identities(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each list with its ids, including those of scheduled events."""
        planned = self._planned()
        yield "tickets", [ticket.key for ticket in self._all_tickets()]
        yield "checklist_items", _ids(self.checklist_items)
        yield "comments", [*_ids(self.comments), *_ids(_of(PlannedComment, planned))]
        yield "answers", _ids(self.answers)
        yield "answers by person and ticket", [f"{one.person_id} {one.ticket_key}" for one in self.answers]
        yield "links", _ids(self.links)
        yield "transitions", [*_ids(self.transitions), *_ids(_of(PlannedTransition, planned))]

    def _all_tickets(self) -> list[PlannedTicket]:
        return [*self.tickets, *_of(PlannedTicket, self._planned())]

    def _planned(self) -> list[RequestModel]:
        return [event.data for event in self.scheduled_events]

    def _rows(self) -> Iterator[tuple[str, RequestModel]]:
        lists: dict[str, Sequence[RequestModel]] = {
            "tickets": self.tickets,
            "checklist_items": self.checklist_items,
            "comments": self.comments,
            "answers": self.answers,
            "links": self.links,
            "transitions": self.transitions,
            "scheduled_events": self._planned(),
        }
        for name, rows in lists.items():
            yield from ((f"{name}.{position}", row) for position, row in enumerate(rows))


_PERSON_FIELDS = frozenset({"reporter_id", "person_id", "verified_by", "done_by", "author_id", "created_by", "by"})
_TICKET_FIELDS = frozenset({"ticket_key", "from_key", "to_key"})


@cache
def _reference_fields(row_type: type[RequestModel]) -> tuple[str, ...]:
    """Return the fields of a row that name a person, a ticket, a team or a scheduled transition."""
    named = {*_PERSON_FIELDS, *_TICKET_FIELDS, "team_id", "after_transition"}
    return tuple(name for name in row_type.model_fields if name in named)


def load_seed(call: Call, seed: Seed) -> None:
    """Insert the rows of a seed, schedule its events and start numbering after its ids."""
    insert_rows(call.db, tables.tickets, seed.tickets)
    insert_rows(call.db, tables.checklist_items, seed.checklist_items)
    insert_rows(call.db, tables.comments, seed.comments)
    insert_rows(call.db, tables.answers, seed.answers)
    insert_rows(call.db, tables.links, seed.links)
    insert_rows(call.db, tables.transitions, seed.transitions)
    prefixes = [{"team_id": team_id, "prefix": prefix} for team_id, prefix in sorted(seed.team_prefixes.items())]
    if prefixes:
        call.db.execute(insert(tables.team_prefixes), prefixes)
    for event in seed.scheduled_events:
        data = event.data.model_dump(mode="json")
        if event.once_verified is None:
            call.schedule(event.due_at, event.kind, data)
        else:
            schedule_once_verified(call, event.due_at, event.once_verified, event.kind, data)
    identities = dict(seed.identities())
    for sequence in ("comments", "links", "transitions"):
        call.number_after(sequence, identities[sequence])
    for prefix in sorted({*seed.team_prefixes.values()}):
        keys = [key for key in identities["tickets"] if key.rsplit("-", 1)[0] == prefix]
        call.number_after(f"tickets:{prefix}", keys)


def _ids(rows: Sequence[_Identified]) -> list[str]:
    return [row.id for row in rows]


def _of(kind: type[RowT], rows: Iterable[RequestModel]) -> list[RowT]:
    return [row for row in rows if isinstance(row, kind)]
