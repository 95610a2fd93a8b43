"""Page registry and choices that several pages share."""

from companyos_shared.framework import Pages
from companyos_shared.wire.company import Company

PAGES = Pages("companyos_ticketdesk.pages", app="ticketdesk", title="TicketDesk")


def teams_of(company: Company) -> list[tuple[str, str]]:
    """Return (id, name) of each team, by name."""
    return sorted(((team.id, team.name) for team in company.teams), key=lambda one: one[1])


def people_of(company: Company) -> list[tuple[str, str]]:
    """Return (id, name) of all current and former employees, by name."""
    return sorted(((person.id, person.name) for person in company.people), key=lambda one: one[1])
