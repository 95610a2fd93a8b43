"""Rules of assignment: an active employee of the ticket's team who is in the office when the ticket is due."""

from __future__ import annotations

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.assignment.model import Candidate


class UnknownAssigneeError(ServiceError):
    status, code, title = 422, "unknown-assignee", "Assignee not found"


class AssigneeNotEmployedError(ServiceError):
    status, code, title = 409, "assignee-not-employed", "Assignee not employed"


class AssigneeOutsideTeamError(ServiceError):
    status, code, title = 409, "assignee-outside-team", "Assignee in another team"


class AssigneeOutOfOfficeError(ServiceError):
    status, code, title = 409, "assignee-out-of-office", "Assignee out of office"


def check_is_employed(candidate: Candidate | None, person_id: str) -> Candidate:
    """Return the candidate; raises UnknownAssigneeError (422) or AssigneeNotEmployedError (409)."""
    if candidate is None:
        raise UnknownAssigneeError(f'assignee_id must be the id of a person in the directory; got "{person_id}"')
    if not candidate.is_employed:
        raise AssigneeNotEmployedError(f"{person_id} is not employed today")
    return candidate


def check_may_be_assigned(candidate: Candidate | None, person_id: str, *, team_id: str) -> None:
    """Check that a person may be assigned.

    Raises UnknownAssigneeError (422), AssigneeNotEmployedError, AssigneeOutsideTeamError or
    AssigneeOutOfOfficeError (409).
    """
    found = check_is_employed(candidate, person_id)
    if found.team_id != team_id:
        raise AssigneeOutsideTeamError(f"{person_id} is not a member of {team_id}, the team of the ticket")
    if found.is_away_when_due:
        raise AssigneeOutOfOfficeError(f"{person_id} is out of office on the day the ticket is due")
