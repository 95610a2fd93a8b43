"""Rules of assignment: an active employee of the ticket's team who is in the office when the ticket is due."""

from __future__ import annotations

from companyos_shared.chassis import Problem
from companyos_ticketdesk.assignment.model import Candidate


class AssigneeUnknown(Problem):
    status, code, title = 422, "assignee-unknown", "Assignee not found"


class AssigneeNotEmployed(Problem):
    status, code, title = 409, "assignee-not-employed", "Assignee not employed"


class AssigneeOutsideTeam(Problem):
    status, code, title = 409, "assignee-outside-team", "Assignee in another team"


class AssigneeOutOfOffice(Problem):
    status, code, title = 409, "assignee-out-of-office", "Assignee out of office"


def check_is_employed(candidate: Candidate | None, person_id: str) -> Candidate:
    """Return the candidate; raises AssigneeUnknown (422) or AssigneeNotEmployed (409)."""
    if candidate is None:
        raise AssigneeUnknown(f'assignee_id must be the id of an employee; got "{person_id}"')
    if not candidate.is_employed:
        raise AssigneeNotEmployed(f"{person_id} is not employed today.")
    return candidate


def check_may_be_assigned(candidate: Candidate | None, person_id: str, *, team_id: str) -> None:
    """Raise AssigneeUnknown (422), AssigneeNotEmployed, AssigneeOutsideTeam or AssigneeOutOfOffice (409)."""
    found = check_is_employed(candidate, person_id)
    if found.team_id != team_id:
        raise AssigneeOutsideTeam(f"{person_id} is not a member of {team_id}.")
    if found.is_away_when_due:
        raise AssigneeOutOfOffice(f"{person_id} is out of office on the day the ticket is due.")
