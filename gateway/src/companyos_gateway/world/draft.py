"""A world in the making: everything that the parts of a company are put into before it is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from companyos_gateway.world.documents import ApprovalFlowDocument, DataHubDocument, TicketDeskDocument
from companyos_gateway.world.documents.writing import moment
from companyos_gateway.world.ids import Ids
from companyos_gateway.world.people import Staff
from companyos_gateway.world.pools import pool
from companyos_gateway.world.wording import from_pool, number, weekday
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Absence, AbsenceKind, Company, Holiday


@dataclass(slots=True)
class Slot:
    """A number that a ticket or request may have, and when it would have been made."""

    key: str
    created_at: datetime


@dataclass(slots=True)
class World:
    """One company and what its three systems hold. Scenarios change it until it is written."""

    started_at: datetime
    company_name: str
    domain: str
    agent_id: str
    ids: Ids
    staff: Staff
    absences: list[Absence]
    holidays: list[Holiday]
    vendor_words: list[str]
    desk: TicketDeskDocument = field(default_factory=TicketDeskDocument)
    hub: DataHubDocument = field(default_factory=DataHubDocument)
    flow: ApprovalFlowDocument = field(default_factory=ApprovalFlowDocument)
    ticket_slots: dict[str, list[Slot]] = field(default_factory=dict)
    """Numbers left free in each team's sequence, oldest first."""
    free_policy_id: str = ""
    """A policy id that nobody has."""
    _sources: dict[str, Callable[[Stream], Any]] = field(default_factory=dict)

    @property
    def today(self) -> date:
        """The day on which the story starts."""
        return self.started_at.date()

    def slots(self) -> Mapping[str, Callable[[Stream], Any]]:
        """Return what the slots of texts may draw: people, vendors and the pools' own words."""
        if not self._sources:
            words, names = pool("tickets")["slots"], [person.name for person in self.staff.active()]
            self._sources = {name: from_pool(items) for name, items in words.items()}
            self._sources |= {name: from_pool(items) for name, items in pool("data")["slots"].items()}
            self._sources |= {"person": from_pool(names), "number": number, "day": weekday}
            self._sources["vendor"] = from_pool([vendor.name for vendor in self.hub.vendors])
        return self._sources

    def keep_in_office(self, person_id: str) -> None:
        """Strike every absence of a person."""
        self.absences = [absence for absence in self.absences if absence.person_id != person_id]

    def send_away(self, person_id: str, *, first_day: date, last_day: date, kind: AbsenceKind) -> None:
        """Let a person be absent in that period, and in no other."""
        self.keep_in_office(person_id)
        away = Absence(id=self.ids.take("ABS"), person_id=person_id, first_day=first_day, last_day=last_day, kind=kind)
        self.absences = sorted([*self.absences, away], key=lambda absence: (absence.first_day, absence.person_id))

    def company(self) -> Company:
        """Return the company as all three systems are told it."""
        return Company(
            name=self.company_name,
            domain=self.domain,
            agent_id=self.agent_id,
            teams=tuple(self.staff.teams),
            people=tuple(self.staff.people),
            absences=tuple(self.absences),
            holidays=tuple(self.holidays),
        )

    def documents(self, draw_seed: str) -> dict[str, dict[str, Any]]:
        """Return the seed documents by service. They are plain JSON and not to be changed."""
        premise = {
            "company": self.company().model_dump(mode="json"),
            "draw_seed": draw_seed,
            "started_at": moment(self.started_at),
        }
        parts = {
            "ticketdesk": self.desk.as_json(),
            "datahub": self.hub.as_json(),
            "approvalflow": self.flow.as_json(),
        }
        return {name: {**premise, **part} for name, part in parts.items()}

    def row_count(self) -> int:
        """Return how many rows the three systems start with."""
        return self.desk.row_count() + self.hub.row_count() + self.flow.row_count()
