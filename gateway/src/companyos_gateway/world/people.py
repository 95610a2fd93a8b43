"""The people of a company: teams, roles with deputies, former employees, absences."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, timedelta

from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.ids import IdGenerator
from companyos_gateway.world.pools import pool
from companyos_gateway.world.splits import words_for_split
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Absence, AbsenceKind, Person, Role, RoleHeld, Team

EXECUTIVE = "executive-office"
FINANCE = "finance"
VENDOR_OPERATIONS = "vendor-operations"
LEAD_ROLES = {
    "procurement": Role.PROCUREMENT_LEAD,
    "security": Role.SECURITY_LEAD,
    "legal": Role.LEGAL_COUNSEL,
    "people": Role.HR_LEAD,
    "data": Role.DATA_STEWARD,
}
"""Role of a team's lead in addition to team lead, by team."""

EXECUTIVES = (
    (Role.CEO, "Chief Executive Officer"),
    (Role.CFO, "Chief Financial Officer"),
    (Role.CTO, "Chief Technology Officer"),
)
CONTROLLERS = 2
CONTROLLER_TITLE = "Finance Controller"
LEAVERS = (3, 5)
ABSENT = (12, 18)
_TENURE_DAYS = (120, 4000)
_LEFT_DAYS_AGO = (15, 300)


@dataclass(slots=True)
class _PersonDraft:
    """A person before the roles and managers are known."""

    id: str
    name: str
    title: str
    team_id: str
    employed_from: date
    employed_to: date | None = None
    roles: list[RoleHeld] = field(default_factory=list)


@dataclass(slots=True)
class Staff:
    """The teams and people of a company, with lookups by ID, team and role."""

    today: date
    teams: list[Team]
    people: list[Person]
    _active: dict[str | None, list[Person]] = field(default_factory=dict)
    _all_employed: dict[str | None, tuple[date, date]] = field(default_factory=dict)
    """First and last day on which all current employees are employed, by team."""
    _holders: dict[Role, list[Person]] = field(default_factory=dict)

    def person(self, person_id: str) -> Person:
        """Return the person with that ID. Raises LookupError if there is none."""
        for person in self.people:
            if person.id == person_id:
                return person
        raise LookupError(f"no person has the ID {person_id!r}")

    def active(self, team_id: str | None = None) -> list[Person]:
        """Return the current employees of a team, or of the company."""
        if team_id not in self._active:
            if team_id is None:
                found = [one for one in self.people if one.is_employed(self.today)]
            else:
                found = [one for one in self.active() if one.team_id == team_id]
            self._active[team_id] = found
            self._all_employed[team_id] = (
                max((one.employed_from for one in found), default=date.min),
                min((one.employed_to or date.max for one in found), default=date.max),
            )
        return self._active[team_id]

    def active_on(self, day: date, team_id: str | None = None) -> list[Person]:
        """Return the current employees of a team, or of the company, who are also employed on that day."""
        active = self.active(team_id)
        first_day, last_day = self._all_employed[team_id]
        return active if first_day <= day <= last_day else [one for one in active if one.is_employed(day)]

    def departed(self, team_id: str) -> list[Person]:
        """Return the former employees of a team."""
        return [one for one in self.people if one.team_id == team_id and not one.is_employed(self.today)]

    def holders(self, role: Role) -> list[Person]:
        """Return the current holders of a role."""
        if role not in self._holders:
            self._holders[role] = [
                one
                for one in self.active()
                if any(held.role == role and held.holds_on(self.today) for held in one.roles)
            ]
        return self._holders[role]

    def lead(self, team_id: str) -> Person:
        """Return the lead of a team. Raises LookupError if there is no team with that ID."""
        for team in self.teams:
            if team.id == team_id:
                return self.person(team.lead_id)
        raise LookupError(f"no team has the ID {team_id!r}")

    def replace(self, person: Person) -> None:
        """Replace the person that has the same ID."""
        self._active.clear()
        self._holders.clear()
        self.people = [person if one.id == person.id else one for one in self.people]

    def set_deputy(self, person_id: str, role: Role, deputy_id: str) -> None:
        """Set the deputy of a person in a role."""
        one = self.person(person_id)
        roles = tuple(
            held.model_copy(update={"deputy_id": deputy_id}) if held.role == role else held for held in one.roles
        )
        self.replace(one.model_copy(update={"roles": roles}))


def draw_company_name(stream: Stream) -> str:
    """Draw the name of a company."""
    names = pool("people")["company"]
    first, second = (words_for_split(stream, f"company_{part}", names[part]) for part in ("first", "second"))
    return f"{stream.choice(first)} {stream.choice(second)}"


def domain_of(company_name: str) -> str:
    """Return the domain of a company's mail addresses."""
    return f"{company_name.lower().replace(' ', '-')}.example"


def draw_staff(stream: Stream, ids: IdGenerator, *, today: date, domain: str, taken_names: Collection[str]) -> Staff:
    """Draw the people and teams of a company; no one has a name in `taken_names`."""
    names = _NameGenerator(stream.child("names"), taken_names)
    drafts: dict[str, list[_PersonDraft]] = {}
    for entry in pool("teams")["team"]:
        own = stream.child("team", entry["id"])
        size = own.integer(*entry["size"])
        drafts[entry["id"]] = [_draw_person(own, ids, names, entry, today, index=index) for index in range(size)]
    _assign_roles(drafts)
    _add_leavers(stream.child("leavers"), ids, names, drafts, today)
    return _staff(drafts, domain, today)


def draw_absences(stream: Stream, ids: IdGenerator, staff: Staff) -> list[Absence]:
    """Draw past, current and planned absences."""
    away = stream.sample(staff.active(), stream.integer(*ABSENT))
    kinds = [(AbsenceKind.VACATION, 6), (AbsenceKind.SICK, 3), (AbsenceKind.TRAINING, 2), (AbsenceKind.PARENTAL, 1)]
    absences = []
    for person in away:
        first_day = working_days_from(staff.today, stream.integer(-15, 25))
        last_day = first_day + timedelta(days=stream.integer(0, 12))
        kind = stream.weighted(kinds)
        absences.append(
            Absence(id=ids.take("ABS"), person_id=person.id, first_day=first_day, last_day=last_day, kind=kind)
        )
    return sorted(absences, key=lambda absence: (absence.first_day, absence.person_id))


class _NameGenerator:
    """Generates names that no other person in the company has."""

    def __init__(self, stream: Stream, taken: Collection[str]) -> None:
        names = pool("people")
        self._stream = stream
        self._taken = taken
        self._family = iter(stream.shuffled(words_for_split(stream, "family", names["family"])))
        self._given = words_for_split(stream, "given", names["given"])

    def take(self) -> str:
        family = next(self._family)
        while (name := f"{self._stream.choice(self._given)} {family}") in self._taken:
            pass
        return name


def _draw_person(
    stream: Stream, ids: IdGenerator, names: _NameGenerator, entry: dict[str, object], today: date, *, index: int
) -> _PersonDraft:
    team_id = str(entry["id"])
    titles = entry["titles"]
    assert isinstance(titles, list)
    title = str(entry["lead"]) if index == 0 else stream.choice(titles)
    if team_id == EXECUTIVE and index < len(EXECUTIVES):
        title = EXECUTIVES[index][1]
    if team_id == FINANCE and 0 < index <= CONTROLLERS:
        title = CONTROLLER_TITLE
    employed_from = today - timedelta(days=stream.integer(*_TENURE_DAYS))
    return _PersonDraft(ids.take("E"), names.take(), title, team_id, employed_from)


def _assign_roles(drafts: dict[str, list[_PersonDraft]]) -> None:
    for index, (role, _) in enumerate(EXECUTIVES):
        _add_role(drafts[EXECUTIVE][index], role)
    for controller in drafts[FINANCE][1 : 1 + CONTROLLERS]:
        _add_role(controller, Role.FINANCE_CONTROLLER)
    for team_id, members in drafts.items():
        _add_role(members[0], Role.TEAM_LEAD)
        if team_id in LEAD_ROLES:
            _add_role(members[0], LEAD_ROLES[team_id])


def _add_role(draft: _PersonDraft, role: Role) -> None:
    draft.roles.append(RoleHeld(role=role, first_day=draft.employed_from))


def _add_leavers(
    stream: Stream, ids: IdGenerator, names: _NameGenerator, drafts: dict[str, list[_PersonDraft]], today: date
) -> None:
    """Add former employees: from Vendor Operations, Finance and random teams, and a former CFO."""
    entries = pool("teams")["team"]
    usual = [entry for entry in entries if entry["id"] != EXECUTIVE]
    by_id = {entry["id"]: entry for entry in entries}
    teams = [by_id[VENDOR_OPERATIONS], by_id[FINANCE]]
    teams += [stream.choice(usual) for _ in range(stream.integer(*LEAVERS) - len(teams))]
    for entry in teams:
        leaver = _draw_person(stream, ids, names, entry, today, index=CONTROLLERS + 1)
        leaver.employed_to = today - timedelta(days=stream.integer(*_LEFT_DAYS_AGO))
        leaver.employed_from = leaver.employed_to - timedelta(days=stream.integer(*_TENURE_DAYS))
        drafts[entry["id"]].append(leaver)
    former = _draw_person(stream, ids, names, by_id[EXECUTIVE], today, index=1)
    former.employed_to = drafts[EXECUTIVE][1].employed_from - timedelta(days=1)
    former.employed_from = former.employed_to - timedelta(days=stream.integer(*_TENURE_DAYS))
    former.roles = [RoleHeld(role=Role.CFO, first_day=former.employed_from, last_day=former.employed_to)]
    drafts[EXECUTIVE].append(former)


def _staff(drafts: dict[str, list[_PersonDraft]], domain: str, today: date) -> Staff:
    ceo_id = drafts[EXECUTIVE][0].id
    people = [
        Person(
            id=draft.id,
            name=draft.name,
            email=f"{draft.name.lower().replace(' ', '.')}@{domain}",
            title=draft.title,
            team_id=team_id,
            manager_id=_manager(draft, members, ceo_id),
            employed_from=draft.employed_from,
            employed_to=draft.employed_to,
            roles=tuple(draft.roles),
        )
        for team_id, members in drafts.items()
        for draft in members
    ]
    teams = [
        Team(id=entry["id"], name=entry["name"], department=entry["department"], lead_id=drafts[entry["id"]][0].id)
        for entry in pool("teams")["team"]
    ]
    return Staff(today, teams, sorted(people, key=lambda person: person.id))


def _manager(draft: _PersonDraft, members: list[_PersonDraft], ceo_id: str) -> str | None:
    if draft.id == ceo_id:
        return None
    return ceo_id if draft is members[0] or draft.team_id == EXECUTIVE else members[0].id
