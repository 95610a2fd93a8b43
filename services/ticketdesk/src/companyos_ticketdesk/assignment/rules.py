"""Rules of assignment: an active employee of the ticket's team who is in the office when the ticket is due."""

from __future__ import annotations

from datetime import datetime

from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import Company, Person


class UnknownAssigneeError(ServiceError):
    status, code, title = 422, "unknown-assignee", "Assignee not found"


class AssigneeNotEmployedError(ServiceError):
    status, code, title = 409, "assignee-not-employed", "Assignee not employed"


class AssigneeOutsideTeamError(ServiceError):
    status, code, title = 409, "assignee-outside-team", "Assignee in another team"


class AssigneeOutOfOfficeError(ServiceError):
    status, code, title = 409, "assignee-out-of-office", "Assignee out of office"


def check_is_employed(company: Company, person_id: str, *, now: datetime) -> Person:
    """Return the person; raises UnknownAssigneeError (422) or AssigneeNotEmployedError (409)."""
    person = company.person(person_id)
    if person is None:
        raise UnknownAssigneeError(f'assignee_id must be the id of a person in the directory; got "{person_id}"')
    if not person.is_employed(now.date()):
        raise AssigneeNotEmployedError(f"{person_id} is not employed today")
    return person


def check_may_be_assigned(
    company: Company, person_id: str, *, team_id: str, now: datetime, due_at: datetime | None
) -> None:
    """Check that a person may be assigned. A ticket that is overdue or has no due time is due now.

    Raises UnknownAssigneeError (422), AssigneeNotEmployedError, AssigneeOutsideTeamError or
    AssigneeOutOfOfficeError (409).
    """
    person = check_is_employed(company, person_id, now=now)
    if person.team_id != team_id:
        raise AssigneeOutsideTeamError(f"{person_id} is not a member of {team_id}, the team of the ticket")
    if company.is_out_of_office(person_id, max(now, due_at or now).date()):
        raise AssigneeOutOfOfficeError(f"{person_id} is out of office on the day the ticket is due")
