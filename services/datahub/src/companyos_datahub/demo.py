"""Demo seed with a small company."""

from __future__ import annotations

from datetime import UTC, date, datetime

from companyos_datahub import demo_rows
from companyos_datahub.seed import Seed
from companyos_shared.wire.company import Absence, AbsenceKind, Company, Holiday, Person, Role, RoleHeld, Team

STARTED_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def demo_seed() -> Seed:
    """Return the demo seed."""
    return Seed(
        company=demo_company(),
        draw_seed="demo",
        started_at=STARTED_AT,
        sources=demo_rows.sources(),
        metrics=demo_rows.metrics(),
        metric_values=demo_rows.metric_values(),
        refresh_plans=demo_rows.refresh_plans(),
        vendors=demo_rows.vendors(),
        bank_changes=demo_rows.bank_changes(),
        certificates=demo_rows.certificates(),
        records=demo_rows.records(),
        policies=demo_rows.policies(),
    )


def demo_company() -> Company:
    """Return a small company; the CFO is away, and one engineer has left."""
    return Company(
        name="Halvorsen Instruments",
        domain="halvorsen.example",
        agent_id="E-1010",
        teams=(
            Team(id="T-MGT", name="Management", department="Management", lead_id="E-1001"),
            Team(id="T-FIN", name="Finance", department="Finance", lead_id="E-1002"),
            Team(id="T-OPS", name="Operations", department="Operations", lead_id="E-1004"),
            Team(id="T-ENG", name="Platform", department="Engineering", lead_id="E-1006"),
        ),
        people=(
            _person("E-1001", "Ingrid Halvorsen", "CEO", "T-MGT", None, Role.CEO),
            _person("E-1002", "Mara Lindqvist", "CFO", "T-FIN", "E-1001", Role.CFO, deputy_id="E-1003"),
            _person("E-1003", "Tomas Okafor", "Finance Controller", "T-FIN", "E-1002", Role.FINANCE_CONTROLLER),
            _person("E-1004", "Priya Raman", "Head of Procurement", "T-OPS", "E-1001", Role.PROCUREMENT_LEAD),
            _person("E-1005", "Jonas Weber", "Data Steward", "T-OPS", "E-1004", Role.DATA_STEWARD),
            _person("E-1006", "Aiko Tanaka", "CTO", "T-ENG", "E-1001", Role.CTO, deputy_id="E-1007"),
            _person("E-1007", "Samuel Boateng", "Security Lead", "T-ENG", "E-1006", Role.SECURITY_LEAD),
            _person("E-1008", "Lucia Ferrari", "HR Lead", "T-MGT", "E-1001", Role.HR_LEAD),
            _person("E-1009", "Peter Novak", "Engineer", "T-ENG", "E-1006", employed_to=date(2026, 1, 31)),
            _person("E-1010", "Nina Castillo", "Operations Analyst", "T-OPS", "E-1004"),
        ),
        absences=(
            _absence("ABS-1", "E-1002", date(2026, 2, 26), date(2026, 3, 6)),
            _absence("ABS-2", "E-1007", date(2026, 3, 9), date(2026, 3, 13)),
        ),
        holidays=(
            Holiday(day=date(2026, 4, 3), name="Good Friday"),
            Holiday(day=date(2026, 4, 6), name="Easter Monday"),
        ),
    )


def _absence(absence_id: str, person_id: str, first_day: date, last_day: date) -> Absence:
    return Absence(
        id=absence_id, person_id=person_id, first_day=first_day, last_day=last_day, kind=AbsenceKind.VACATION
    )


def _person(
    person_id: str,
    name: str,
    title: str,
    team_id: str,
    manager_id: str | None,
    role: Role | None = None,
    *,
    deputy_id: str | None = None,
    employed_to: date | None = None,
) -> Person:
    first_day = date(2021, 1, 1)
    held = () if role is None else (RoleHeld(role=role, first_day=first_day, deputy_id=deputy_id),)
    return Person(
        id=person_id,
        name=name,
        email=f"{name.lower().replace(' ', '.')}@halvorsen.example",
        title=title,
        team_id=team_id,
        manager_id=manager_id,
        employed_from=first_day,
        employed_to=employed_to,
        roles=held,
    )
