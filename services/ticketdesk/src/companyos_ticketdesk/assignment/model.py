"""Candidates for the assignment of a ticket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from companyos_shared.wire.company import Company


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A person with the data that assignment depends on."""

    id: str
    team_id: str
    is_employed: bool
    is_away_when_due: bool


def find_candidate(company: Company, person_id: str, *, now: datetime, due_at: datetime | None) -> Candidate | None:
    """Return the person as a candidate at `now`. A ticket that is overdue or has no due time is due now."""
    person = company.person(person_id)
    if person is None:
        return None
    due_day = max(now, due_at or now).date()
    return Candidate(
        id=person.id,
        team_id=person.team_id,
        is_employed=person.is_employed(now.date()),
        is_away_when_due=company.is_out_of_office(person.id, due_day),
    )
