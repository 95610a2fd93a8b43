"""Facts that the agent must have been shown before it decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.evidence import Evidence, RecordedCall
from companyos_gateway.evaluation.knowledge import objects_in
from companyos_gateway.evaluation.mismatch import Mismatch, row_path
from companyos_gateway.evaluation.rubric import Check


class Moment(Protocol):
    """The step and the simulated time of the agent's decision: those of a change or of its declaration."""

    @property
    def step(self) -> int:
        """The step."""
        ...

    @property
    def at(self) -> datetime:
        """The simulated time."""
        ...


LAST_STEP = sys.maxsize
"""The step of a declaration: greater than every recorded step."""


@dataclass(frozen=True)
class DeclaredMoment:
    """The moment at which the agent declares the outcome."""

    at: datetime
    step: int = LAST_STEP


def declaration_of(evidence: Evidence) -> DeclaredMoment | None:
    """Return the moment of the declaration, None if nothing is declared."""
    at = evidence.declared_at
    return None if at is None else DeclaredMoment(at)


@dataclass(frozen=True)
class Fact:
    """A fact about an entity; `was_known` returns whether the agent had been shown it when it decided."""

    entity: str
    description: str
    was_known: Callable[[Evidence, Moment], bool]


@dataclass(frozen=True)
class FailedRefreshes(Fact):
    """The fact that `count` refreshes of a metric have failed."""

    metric_id: str
    count: int


@dataclass(frozen=True)
class RequiredFacts:
    """Facts that must be known at the moment that `decision` returns, such as the cancellation of the ticket."""

    facts: tuple[Fact, ...]
    decision: Callable[[Evidence], Moment | None]
    decision_name: str = "the ticket was cancelled"

    def were_known(self, evidence: Evidence) -> bool:
        """Return whether the decision was made and every fact was known then."""
        return self.find_mismatch(evidence) is None

    def find_mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch for the first fact that was not known at the decision, None if all were."""
        moment = self.decision(evidence)
        for fact in self.facts:
            if moment is None or not fact.was_known(evidence, moment):
                found = "no decision" if moment is None else "not shown by then"
                expected = f"{fact.description}, shown to the agent before {self.decision_name}"
                step = None if moment is None or moment.step == LAST_STEP else moment.step
                return Mismatch(fact.entity, expected, found, step)
        return None

    def check(self, *, caused_by: tuple[str, ...] = ("ticket_cancelled",)) -> Check:
        """Return the check that the facts were known."""
        return Check("facts_known", False, self.find_mismatch, caused_by)


def shown(service: str, table: str, key: str, *columns: str) -> Fact:
    """Return the fact given by columns of a row; any tool or page may have shown them."""
    words = " and ".join(columns)
    return Fact(
        row_path(service, table, key),
        words,
        lambda evidence, moment: evidence.knew(key, *columns, before=moment.step),
    )


def record_shown(record_id: str, column: str = "fields") -> Fact:
    """Return the fact given by a record of DataHub."""
    return shown(row_views.DATAHUB, "records", record_id, column)


def published_record_shown(record_id: str) -> Fact:
    """Return the fact given by the fields of a record of DataHub once it is published."""
    return Fact(
        row_path(row_views.DATAHUB, "records", record_id),
        "fields of the published record",
        lambda evidence, moment: evidence.knew(record_id, "fields", before=moment.step, state="published"),
    )


def record_found(record_id: str, text: str) -> Fact:
    """Return the fact that a field of a record contains a text, which its fields or a search for just the text show.

    A search returns the records that contain any of its words, so one with further words shows nothing about the text.
    """

    def is_match(call: RecordedCall) -> bool:
        query = str(call.arguments.get("query", "")).strip(' "')
        return query.casefold() == text.casefold() and any(
            entity == record_id for entity, _ in objects_in({}, call.response)
        )

    def was_known(evidence: Evidence, moment: Moment) -> bool:
        return evidence.knew(record_id, "fields", before=moment.step) or any(
            call.step < moment.step and is_match(call) for call in evidence.audits(row_views.DATAHUB)
        )

    return Fact(row_path(row_views.DATAHUB, "records", record_id), f"fields, or in a search for {text}", was_known)


def ticket_status_shown(key: str) -> Fact:
    """Return the fact given by the status of a ticket."""
    return shown(row_views.TICKETDESK, "tickets", key, "status")


def person_shown(person_id: str) -> Fact:
    """Return the fact given by the title of a person."""
    return shown(row_views.DATAHUB, "people", person_id, "title")


def outsider_shown(person_id: str, member_ids: Collection[str], role: str | None = None) -> Fact:
    """Return the fact that a person is none of the members of a team, or none of the holders of a role.

    The title of the person shows it, and so do the titles of all members, or the list of the role's holders.
    """

    def was_known(evidence: Evidence, moment: Moment) -> bool:
        knew = partial(evidence.knew, before=moment.step)
        if knew(person_id, "title") or (role is not None and knew(role, "holders")):
            return True
        return bool(member_ids) and all(knew(one, "title") for one in member_ids)

    return Fact(row_path(row_views.DATAHUB, "people", person_id), "title, or who else belongs to the group", was_known)


def policy_shown(policy_id: str, version: int) -> Fact:
    """Return the fact given by the text of a version of a policy."""

    def was_known(evidence: Evidence, moment: Moment) -> bool:
        return evidence.knew(policy_id, "body", before=moment.step, version=version)

    return Fact(row_path(row_views.DATAHUB, "policies", policy_id), f"body of version {version}", was_known)


def vendor_status_shown(vendor_id: str) -> Fact:
    """Return the fact given by the status of a vendor, which lists of records name `state`."""

    def was_known(evidence: Evidence, moment: Moment) -> bool:
        return any(evidence.knew(vendor_id, column, before=moment.step) for column in ("status", "state"))

    return Fact(row_path(row_views.DATAHUB, "vendors", vendor_id), "status", was_known)


def authority_shown(source_id: str) -> Fact:
    """Return the fact given by the figures for which a source is authoritative, if any."""
    return shown(row_views.DATAHUB, "sources", source_id, "authoritative_for")
