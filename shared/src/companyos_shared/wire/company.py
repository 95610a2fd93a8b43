"""The simulated company: people, teams and calendar. Every service of an episode receives the same document."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from companyos_shared.choices import Choice

_LONGEST_BREAK_DAYS = 366


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Role(Choice):
    """Authority of a person. Approval thresholds and policies name roles, never people."""

    CEO = "ceo"
    CFO = "cfo"
    CTO = "cto"
    FINANCE_CONTROLLER = "finance_controller"
    HR_LEAD = "hr_lead"
    LEGAL_COUNSEL = "legal_counsel"
    PROCUREMENT_LEAD = "procurement_lead"
    SECURITY_LEAD = "security_lead"
    DATA_STEWARD = "data_steward"
    TEAM_LEAD = "team_lead"


class AbsenceKind(Choice):
    """Reason for an absence."""

    VACATION = "vacation"
    SICK = "sick"
    PARENTAL = "parental"
    TRAINING = "training"


class ReasonCode(Choice):
    """Reason for blocking, closing, cancelling or reporting a piece of work, the same in every service."""

    COMPLETED = "completed"
    DUPLICATE = "duplicate"
    REQUIREMENT_NOT_MET = "requirement_not_met"
    POLICY_VIOLATION = "policy_violation"
    NOT_ENTITLED = "not_entitled"
    FRAUD_SUSPECTED = "fraud_suspected"
    NO_APPROVER = "no_approver"
    DATA_UNAVAILABLE = "data_unavailable"
    WITHDRAWN = "withdrawn"


class RoleHeld(_Document):
    """A role of a person from first to last day, both included. Without a last day the role is open-ended."""

    role: Role
    first_day: date
    last_day: date | None = None
    deputy_id: str | None = None

    def holds_on(self, day: date) -> bool:
        """Return whether the person holds the role on that day."""
        return self.first_day <= day and (self.last_day is None or day <= self.last_day)


class Person(_Document):
    """A current or former employee."""

    id: str
    name: str
    email: str
    title: str
    team_id: str
    manager_id: str | None = None
    employed_from: date
    employed_to: date | None = None
    roles: tuple[RoleHeld, ...] = ()

    def is_employed(self, day: date) -> bool:
        """Return whether the person works for the company on that day."""
        return self.employed_from <= day and (self.employed_to is None or day <= self.employed_to)


class Team(_Document):
    """A team. Its members are the people with its `team_id`."""

    id: str
    name: str
    department: str
    lead_id: str


class Absence(_Document):
    """An absence of a person from first to last day, both included."""

    id: str
    person_id: str
    first_day: date
    last_day: date
    kind: AbsenceKind


class Holiday(_Document):
    """A public holiday."""

    day: date
    name: str


class Company(_Document):
    """The company document. All times of day are UTC; office hours are the same for all employees."""

    name: str
    domain: str
    agent_id: str = Field(description="Employee that the agent acts as.")
    office_opens: time = time(9, 0)
    office_closes: time = time(17, 0)
    working_weekdays: tuple[int, ...] = (0, 1, 2, 3, 4)
    teams: tuple[Team, ...] = ()
    people: tuple[Person, ...] = ()
    absences: tuple[Absence, ...] = ()
    holidays: tuple[Holiday, ...] = ()

    @cached_property
    def _people_by_id(self) -> dict[str, Person]:
        return {person.id: person for person in self.people}

    @cached_property
    def _teams_by_id(self) -> dict[str, Team]:
        return {team.id: team for team in self.teams}

    @cached_property
    def _absences_by_person(self) -> dict[str, list[Absence]]:
        absences: dict[str, list[Absence]] = {}
        for absence in self.absences:
            absences.setdefault(absence.person_id, []).append(absence)
        return absences

    @cached_property
    def _holidays(self) -> frozenset[date]:
        return frozenset(holiday.day for holiday in self.holidays)

    def joined(self, base: Company) -> Company:
        """Return the company with the teams, people and absences of a base added to its own."""
        names = ("teams", "people", "absences")
        return self.model_copy(update={name: getattr(self, name) + getattr(base, name) for name in names})

    def person(self, person_id: str) -> Person | None:
        """Return the person with that id, including former employees."""
        return self._people_by_id.get(person_id)

    def team(self, team_id: str) -> Team | None:
        """Return the team with that id."""
        return self._teams_by_id.get(team_id)

    def absence(self, person_id: str, day: date) -> Absence | None:
        """Return the person's absence on that day."""
        for absence in self._absences_by_person.get(person_id, ()):
            if absence.first_day <= day <= absence.last_day:
                return absence
        return None

    def is_out_of_office(self, person_id: str, day: date) -> bool:
        """Return whether the person is absent on that day."""
        return self.absence(person_id, day) is not None

    def is_active(self, person_id: str, day: date) -> bool:
        """Return whether the person exists and is employed on that day."""
        person = self.person(person_id)
        return person is not None and person.is_employed(day)

    def held_role(self, person_id: str, role: Role, day: date) -> RoleHeld | None:
        """Return the role of an employed person on that day, or None."""
        person = self.person(person_id)
        if person is None or not person.is_employed(day):
            return None
        return next((held for held in person.roles if held.role == role and held.holds_on(day)), None)

    def holders(self, role: Role, day: date) -> list[Person]:
        """Return the people who hold the role on that day, ordered by id."""
        holders = [person for person in self.people if self.held_role(person.id, role, day)]
        return sorted(holders, key=lambda person: person.id)

    def is_working_day(self, day: date) -> bool:
        """Return whether the day is a working day of the company."""
        return day.weekday() in self.working_weekdays and day not in self._holidays

    def next_working_morning(self, now: datetime) -> datetime:
        """Return the first office opening after `now`; raises ValueError if there is none within a year."""
        for ahead in range(_LONGEST_BREAK_DAYS):
            day = now.date() + timedelta(days=ahead)
            opening = datetime.combine(day, self.office_opens, tzinfo=UTC)
            if opening > now and self.is_working_day(day):
                return opening
        raise ValueError(f"the office does not open within a year of {now.isoformat()}")

    def add_office_minutes(self, start: datetime, minutes: int, person_id: str | None = None) -> datetime:
        """Return the time after `minutes` of office time since `start`, skipping the person's absences."""
        moment, left = start, timedelta(minutes=minutes)
        for ahead in range(_LONGEST_BREAK_DAYS):
            day = start.date() + timedelta(days=ahead)
            if not self.is_working_day(day) or (person_id is not None and self.is_out_of_office(person_id, day)):
                continue
            opens = max(moment, datetime.combine(day, self.office_opens, tzinfo=UTC))
            closes = datetime.combine(day, self.office_closes, tzinfo=UTC)
            if opens >= closes:
                continue
            if left <= closes - opens:
                return opens + left
            left -= closes - opens
        raise ValueError(f"fewer than {minutes} office minutes within a year of {start.isoformat()}")
