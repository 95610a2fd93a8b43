"""Who may be assigned: an active employee of the owning team who is in the office when the ticket is due."""

from __future__ import annotations

from companyos_shared.chassis import Problem
from companyos_ticketdesk.assignment.model import Candidate


class AssigneeUnknown(Problem):
    status, code, title = 422, "assignee-unknown", "The company knows no such person"


class AssigneeNotEmployed(Problem):
    status, code, title = 409, "assignee-not-employed", "The person does not work for the company today"


class AssigneeOutsideTeam(Problem):
    status, code, title = 409, "assignee-outside-team", "The person is not in the team that owns the ticket"


class AssigneeOutOfOffice(Problem):
    status, code, title = 409, "assignee-out-of-office", "The person is out of office when the ticket is due"


def check_is_employed(candidate: Candidate | None, person_id: str) -> Candidate:
    """Return the candidate, or raise AssigneeUnknown (422) or AssigneeNotEmployed (409)."""
    if candidate is None:
        raise AssigneeUnknown(f"Nobody has the id {person_id}.")
    if not candidate.is_employed:
        raise AssigneeNotEmployed(f"{person_id} is not employed today.")
    return candidate


def check_may_be_assigned(candidate: Candidate | None, person_id: str, *, team_id: str) -> None:
    """Raise AssigneeUnknown (422), AssigneeNotEmployed, AssigneeOutsideTeam or AssigneeOutOfOffice (409)."""
    found = check_is_employed(candidate, person_id)
    if found.team_id != team_id:
        raise AssigneeOutsideTeam(f"{person_id} is not in {team_id}.")
    if found.is_away_when_due:
        raise AssigneeOutOfOffice(f"{person_id} is out of office on the day the ticket is due.")
