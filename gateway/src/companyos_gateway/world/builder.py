"""The company under construction: the rows of all services before they are serialized."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, timedelta
from typing import Any

from pydantic_core import to_json

from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.ids import IdGenerator
from companyos_gateway.world.people import Staff
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents import (
    ApprovalFlowDocument,
    DataHubDocument,
    SeedDocuments,
    TicketDeskDocument,
)
from companyos_gateway.world.seed_documents.approvalflow import DecisionRow, NoteRow, RequestRow
from companyos_gateway.world.seed_documents.datahub import SourceRow
from companyos_gateway.world.text_templates import choose_from, draw_number, draw_weekday
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Absence, AbsenceKind, Company, Holiday, Person

LAST_MINUTES = timedelta(minutes=5)
"""Minimum time between an earlier event and the start."""


@dataclass(slots=True)
class KeySlot:
    """A free ticket key or request ID, with its creation time."""

    key: str
    created_at: datetime


@dataclass(frozen=True)
class BaseCompany:
    """The other offices of a company."""

    company_name: str
    started_at: datetime
    documents: Mapping[str, Mapping[str, Any]]
    """Seed documents by service."""
    sources: Mapping[str, str]
    """Sources of the documents by service."""
    names: Set[str]
    """The names of people and vendors."""
    ids: Mapping[str, Set[int]]
    """Numbers in use, by ID prefix."""
    last_numbers: Mapping[str, int]
    """Last number by kind of row: comment, transition, link and item."""
    requests: Sequence[tuple[datetime, int]]
    """Submission times and numbers of the requests, ascending; the numbers have gaps."""

    def number_request(self, at: datetime, after: int) -> int:
        """Return a free number higher than `after` for a request submitted at that time."""
        earlier = bisect_right(self.requests, at, key=lambda request: request[0])
        number = max(after, self.requests[earlier - 1][1] if earlier else 0) + 1
        taken = {one for _, one in self.requests[max(0, earlier - 1) :]}
        while number in taken:
            number += 1
        return number


@dataclass(slots=True)
class WorldBuilder:
    """A company and the rows of its services. Scenarios change it before it is serialized."""

    started_at: datetime
    company_name: str
    domain: str
    agent_id: str
    ids: IdGenerator
    staff: Staff
    absences: list[Absence]
    holidays: list[Holiday]
    vendor_words: list[str]
    ticketdesk: TicketDeskDocument = field(default_factory=TicketDeskDocument)
    datahub: DataHubDocument = field(default_factory=DataHubDocument)
    approvalflow: ApprovalFlowDocument = field(default_factory=ApprovalFlowDocument)
    ticket_slots: dict[str, list[KeySlot]] = field(default_factory=dict)
    """Free ticket keys of each team, oldest first."""
    service_documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Seed documents, as JSON, of the services from other packages; scenarios may add rows."""
    free_policy_ids: list[str] = field(default_factory=list)
    """Unused policy IDs, taken from the end."""
    task_policy_ids: set[str] = field(default_factory=set)
    """IDs of the policies that tasks have added; the others are the company's usual ones."""
    base: BaseCompany | None = None
    """The other offices of a larger company; None for a small one."""
    office: str | None = None
    """The office that texts mention; None for any."""
    taken_names: Collection[str] = ()
    """Names that new vendors cannot have."""
    kept_rows: set[str] = field(default_factory=set)
    """Rows of earlier tasks, as texts; further tasks must not remove them."""
    _sources: dict[str, Callable[[Stream], Any]] = field(default_factory=dict)
    today: date = field(init=False)
    """The day on which the episode starts."""
    last_evening: datetime = field(init=False)
    """The closing time of the last working day before the start."""

    def __post_init__(self) -> None:
        self.today = self.started_at.date()
        self.last_evening = closing_time(working_days_from(self.today, -1))

    def latest_after(self, moment: datetime) -> datetime:
        """Return the latest time of earlier activity on something created at a moment.

        It is the last evening, or just before the start if the moment is today.
        """
        return self.last_evening if moment.date() < self.today else self.started_at - LAST_MINUTES

    def present(self, first_day: date, last_day: date | None = None, *, team_id: str | None = None) -> list[Person]:
        """Return the people present throughout a period, in a team or in the company.

        If no one is present, return all current employees there.
        """
        last_day, employed = last_day or first_day, self.staff.active_on(first_day, team_id)
        away = {one.person_id for one in self.absences if one.first_day <= last_day and first_day <= one.last_day}
        if away:
            employed = [one for one in employed if one.id not in away]
        return employed or self.staff.active(team_id)

    def slot_sources(self) -> Mapping[str, Callable[[Stream], Any]]:
        """Return the functions that draw values of slots in texts: people, vendors and words of the pools."""
        if not self._sources:
            words, names = pool("tickets")["slots"], [person.name for person in self.staff.active()]
            self._sources = {name: choose_from(items) for name, items in words.items()}
            self._sources |= {name: choose_from(items) for name, items in pool("data")["slots"].items()}
            if self.office is not None:
                self._sources["office"] = choose_from([self.office])
            self._sources |= {"person": choose_from(names), "number": draw_number, "day": draw_weekday}
            self._sources["vendor"] = choose_from([vendor.name for vendor in self.datahub.vendors])
        return self._sources

    def last_number(self, name: str) -> int:
        """Return the last number of a kind of row (comment, transition, link, item) in the base, else 0."""
        return 0 if self.base is None else self.base.last_numbers[name]

    def rename_in_texts(self, old: str, new: str) -> None:
        """Replace a person's name in all texts, including later ones."""
        self._sources.clear()
        for ticket in self.ticketdesk.tickets:
            ticket.title, ticket.description = ticket.title.replace(old, new), ticket.description.replace(old, new)
        for comment in self.ticketdesk.comments:
            comment.body = comment.body.replace(old, new)

    def is_kept(self, row: object) -> bool:
        """Return whether a row belongs to an earlier task."""
        return bool(self.kept_rows) and text_of(row) in self.kept_rows

    def remove_absences(self, person_id: str) -> None:
        """Remove all absences of a person."""
        self.absences = [absence for absence in self.absences if absence.person_id != person_id]

    def postpone_departure(self, stream: Stream, person_id: str, moment: datetime) -> None:
        """Postpone the last day of a former employee to a day between a moment and the start."""
        person = self.staff.person(person_id)
        days = (self.last_evening.date() - moment.date()).days
        last_day = moment.date() + timedelta(days=stream.integer(0, max(0, days)))
        if person.employed_to is not None and person.employed_to < last_day:
            self.staff.replace(person.model_copy(update={"employed_to": last_day}))

    def set_absence(self, person_id: str, *, first_day: date, last_day: date, kind: AbsenceKind) -> None:
        """Replace a person's absences with one in that period."""
        self.remove_absences(person_id)
        away = Absence(id=self.ids.take("ABS"), person_id=person_id, first_day=first_day, last_day=last_day, kind=kind)
        self.absences = sorted([*self.absences, away], key=lambda absence: (absence.first_day, absence.person_id))

    def company(self) -> Company:
        """Return the company in the form that all services load."""
        return Company(
            name=self.company_name,
            domain=self.domain,
            agent_id=self.agent_id,
            teams=tuple(self.staff.teams),
            people=tuple(self.staff.people),
            absences=tuple(self.absences),
            holidays=tuple(self.holidays),
        )

    def documents(self, draw_seed: str) -> SeedDocuments:
        """Return the seed documents by service."""
        constants = {"company": self.company(), "draw_seed": draw_seed, "started_at": self.started_at}
        parts: dict[str, dict[str, Any]] = {
            "ticketdesk": _tables(self.ticketdesk),
            "datahub": _tables(self.datahub),
            "approvalflow": _tables(self.approvalflow),
            **self.service_documents,
        }
        bases = {} if self.base is None else {name: {"base": source} for name, source in self.base.sources.items()}
        return SeedDocuments(
            {name: to_json({**constants, **part, **bases.get(name, {})}) for name, part in parts.items()}
        )

    def row_documents(self) -> tuple[TicketDeskDocument, DataHubDocument, ApprovalFlowDocument]:
        """Return the documents of the three services."""
        return self.ticketdesk, self.datahub, self.approvalflow


def _tables(document: TicketDeskDocument | DataHubDocument | ApprovalFlowDocument) -> dict[str, Any]:
    return {table.name: getattr(document, table.name) for table in fields(document)}


def text_of(row: object) -> str:
    """Return a row as text without values that further cases may change: request IDs and a source's authority."""
    match row:
        case RequestRow():
            return repr(replace(row, id=""))
        case DecisionRow() | NoteRow():
            return repr(replace(row, id="", request_id=""))
        case SourceRow():
            return repr(replace(row, authoritative_for=[]))
    return repr(row)
