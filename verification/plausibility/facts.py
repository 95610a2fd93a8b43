"""The seed documents of an instance with the indexes that rules need. Times and dates remain comparable ISO strings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from companyos_gateway.scenarios.api import Instance

Row = Mapping[str, Any]
Found = Iterator[tuple[str, str]]
"""Pairs of an entity and a sentence."""

ENDED = frozenset({"resolved", "closed", "cancelled"})
"""Final statuses of tickets."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One implausible fact: the rule that found it, the instance, the entity, and a sentence."""

    rule: str
    scenario: str
    seed: int
    chaos: int
    entity: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.scenario} seed {self.seed} chaos {self.chaos} {self.rule} {self.entity}: {self.sentence}"


@dataclass(frozen=True, kw_only=True)
class Act:
    """An action of a person at a time."""

    entity: str
    person_id: str
    at: str
    what: str


@dataclass(frozen=True)
class Facts:
    """The facts that rules check."""

    documents: Mapping[str, Mapping[str, Any]]
    brief: str = ""
    kinds: frozenset[str] = frozenset()
    """The chaos kinds that affect the instance."""
    deliberate: str = ""
    """The case's refusal and breaching ids as text: entities in it are wrong on purpose."""
    ticket_key: str = ""
    """The entry ticket."""
    backed_items: frozenset[str] = frozenset()
    """The ids of the entry ticket's open checklist items that are backed by rows."""

    @classmethod
    def of(cls, instance: Instance) -> Facts:
        """Return the facts of an instance."""
        case: Any = getattr(instance.build_rubric, "case", None)
        breaching_ids = getattr(getattr(case, "facts", None), "breaching_ids", ())
        wrong = (getattr(case, "refusal", None), breaching_ids)
        kinds = frozenset(injection.kind.value for injection in instance.injections)
        backed = frozenset(item.id for item in getattr(case, "open_items", ()) if item.backing)
        ticket_key = getattr(case, "ticket_key", "")
        return cls(instance.documents, instance.brief, kinds, repr(wrong), ticket_key, backed)

    @property
    def ticketdesk(self) -> Mapping[str, Any]:
        """TicketDesk's document."""
        return self.documents["ticketdesk"]

    @property
    def datahub(self) -> Mapping[str, Any]:
        """DataHub's document."""
        return self.documents["datahub"]

    @property
    def approvalflow(self) -> Mapping[str, Any]:
        """ApprovalFlow's document."""
        return self.documents["approvalflow"]

    @property
    def company(self) -> Mapping[str, Any]:
        """The company."""
        company: Mapping[str, Any] = self.ticketdesk["company"]
        return company

    @cached_property
    def started_at(self) -> str:
        """The start of the episode."""
        return str(self.ticketdesk["started_at"])

    @cached_property
    def today(self) -> str:
        """The first day of the episode."""
        return self.started_at[:10]

    @cached_property
    def people(self) -> dict[str, Row]:
        """All people by id, including former employees."""
        return {row["id"]: row for row in self.company["people"]}

    @cached_property
    def tickets(self) -> dict[str, Row]:
        """The tickets by key."""
        return {row["key"]: row for row in self.ticketdesk["tickets"]}

    @cached_property
    def records(self) -> dict[str, Row]:
        """The records by id."""
        return {row["id"]: row for row in self.datahub["records"]}

    @cached_property
    def vendors(self) -> dict[str, Row]:
        """The vendors by id."""
        return {row["id"]: row for row in self.datahub["vendors"]}

    @cached_property
    def requests(self) -> dict[str, Row]:
        """The requests by id."""
        return {row["id"]: row for row in self.approvalflow["requests"]}

    @cached_property
    def approval_types(self) -> dict[str, Row]:
        """The approval types by key."""
        return {row["key"]: row for row in self.approvalflow["approval_types"]}

    @cached_property
    def transitions(self) -> dict[str, list[Row]]:
        """The transitions of each ticket, in order of time; rows with equal times keep their order."""
        history: dict[str, list[Row]] = defaultdict(list)
        for row in sorted(self.ticketdesk["transitions"], key=lambda one: str(one["at"])):
            history[row["ticket_key"]].append(row)
        return history

    @cached_property
    def _absences(self) -> dict[str, list[tuple[str, str]]]:
        absences: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in self.company["absences"]:
            absences[row["person_id"]].append((row["first_day"], row["last_day"]))
        return absences

    @cached_property
    def _holidays(self) -> frozenset[str]:
        return frozenset(row["day"] for row in self.company["holidays"])

    def is_employed(self, person_id: str, day: str) -> bool:
        """Return whether the person exists and is employed on a day."""
        person = self.people.get(person_id)
        return person is not None and person["employed_from"] <= day <= (person["employed_to"] or day)

    def is_absent(self, person_id: str, day: str) -> bool:
        """Return whether the person is on leave on a day."""
        return any(first <= day <= last for first, last in self._absences.get(person_id, ()))

    def has_role(self, person_id: str, role: str, day: str) -> bool:
        """Return whether the person is employed and holds the role on a day."""
        if not self.is_employed(person_id, day):
            return False
        held: Sequence[Row] = self.people[person_id]["roles"]
        return any(one["role"] == role and one["first_day"] <= day <= (one["last_day"] or day) for one in held)

    def is_working_day(self, day: str) -> bool:
        """Return whether a day is a working day of the company."""
        return date.fromisoformat(day).weekday() in self.company["working_weekdays"] and day not in self._holidays

    def status_at(self, ticket_key: str, moment: str) -> str | None:
        """Return the status of a ticket at a moment, by its history; None before its first transition."""
        before = [row["to_status"] for row in self.transitions.get(ticket_key, ()) if row["at"] <= moment]
        return before[-1] if before else None

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        """The actions of people before the start."""
        return tuple(_acts(self))


_TICKETDESK_ACTS = (
    ("tickets", "key", "reporter_id", "created_at", "reported the ticket"),
    ("tickets", "key", "verified_by", "verified_at", "verified the ticket"),
    ("transitions", "ticket_key", "by", "at", "moved the ticket"),
    ("comments", "ticket_key", "author_id", "created_at", "commented"),
    ("checklist_items", "ticket_key", "done_by", "done_at", "completed a checklist item"),
    ("links", "from_key", "created_by", "created_at", "linked the ticket"),
)
_DATAHUB_ACTS = (
    ("refresh_jobs", "id", "requested_by", "requested_at", "requested a refresh"),
    ("data_issues", "id", "reported_by", "reported_at", "reported an issue"),
)
_APPROVALFLOW_ACTS = (
    ("requests", "id", "requester_id", "submitted_at", "submitted the request"),
    ("decisions", "request_id", "by", "at", "decided"),
    ("notes", "request_id", "author_id", "at", "wrote a note"),
)


def _acts(facts: Facts) -> Iterator[Act]:
    for document, acts in (
        (facts.ticketdesk, _TICKETDESK_ACTS),
        (facts.datahub, _DATAHUB_ACTS),
        (facts.approvalflow, _APPROVALFLOW_ACTS),
    ):
        for table, entity, person, at, what in acts:
            for row in document[table]:
                if row[at] is not None and row[person] is not None:
                    yield Act(entity=row[entity], person_id=row[person], at=row[at], what=what)
    for record in facts.datahub["records"]:
        if record["kind"] == "expense" and record["owner_id"] is not None:
            yield Act(
                entity=record["id"], person_id=record["owner_id"], at=record["created_at"], what="filed the expense"
            )
