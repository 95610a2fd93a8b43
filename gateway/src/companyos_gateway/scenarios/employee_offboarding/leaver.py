"""The leaver: who goes and when, who has the same name, and what access they have."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.employee_offboarding.case import Ground, Shape
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person

TEAMS = ("vendor-operations", "procurement", "platform", "data")
"""Teams that people leave; nothing that blocks the ticket belongs to them."""

LEAST_TENURE_DAYS = 250
LAST_DAY_IN_WORKING_DAYS = (20, 26)
"""Later than any ticket of this kind is due."""

ADMIN, WRITE, READ = "admin", "write", "read"


@dataclass(frozen=True, kw_only=True)
class Leaver:
    """Who leaves, with their access."""

    person: Person
    shape: Shape
    ground: Ground | None
    last_day: date
    """The last day; of one who stays, that which somebody believes in."""
    revoked: tuple[RecordRow, ...]
    ended: tuple[RecordRow, ...]
    written: tuple[RecordRow, ...]
    """Grants to write, which some versions of the policy end at once and others on the last day."""

    @property
    def tenure_days(self) -> int:
        """For how many days they will have been employed."""
        return (self.last_day - self.person.employed_from).days


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def add_leaver(
    world: World, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool, is_write_revoked: bool
) -> Leaver:
    """Let somebody leave, and give them grants that end too late, in time and long ago."""
    ground = stream.choice(list(Ground)) if must_refuse else None
    shape = stream.choice(list(Shape))
    last_day = working_days_from(world.today, stream.integer(*LAST_DAY_IN_WORKING_DAYS))
    person = _draw_person(world, stream)
    world.keep_in_office(person.id)
    if ground is not Ground.STAYS:
        _change(world, person.id, employed_to=last_day)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, person)
    _take_grants(world, stream, person)
    late = [last_day + timedelta(days=stream.integer(5, 300)) for _ in range(3)]
    early = world.today + timedelta(days=stream.integer(1, 10))
    admin = _grant(world, stream, person, ADMIN, ends_on=late[0])
    write = _grant(world, stream, person, WRITE, ends_on=late[1])
    read = _grant(world, stream, person, READ, ends_on=late[2])
    _grant(world, stream, person, READ, ends_on=early)
    past = world.today - timedelta(days=stream.integer(10, 90))
    _grant(world, stream, person, stream.choice((ADMIN, WRITE)), ends_on=past, state="expired")
    return Leaver(
        person=world.staff.person(person.id),
        shape=shape,
        ground=ground,
        last_day=last_day,
        revoked=(admin, write) if is_write_revoked else (admin,),
        ended=(read,) if is_write_revoked else (write, read),
        written=(write,),
    )


def _draw_person(world: World, stream: Stream) -> Person:
    oldest = world.today - timedelta(days=LEAST_TENURE_DAYS)
    usual = [one for team_id in TEAMS for one in world.staff.active(team_id) if not one.roles]
    return stream.choice([one for one in usual if one.employed_from <= oldest] or usual)


def _change(world: World, person_id: str, **changes: Any) -> None:
    world.staff.replace(world.staff.person(person_id).model_copy(update=changes))


def _add_namesake(world: World, stream: Stream, person: Person) -> None:
    """Give somebody of another team the same name."""
    others = [one for one in world.staff.active() if one.team_id != person.team_id and not one.roles]
    namesake = stream.choice([one for one in others if one.id != world.agent_id])
    _change(world, namesake.id, name=person.name)


def _take_grants(world: World, stream: Stream, person: Person) -> None:
    """Give the grants that the company's usual records hold for the person to somebody else."""
    others = [one.id for one in world.staff.active() if one.id != person.id]
    for record in world.hub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person.id:
            record.fields = {**record.fields, "person_id": stream.choice(others)}


def _grant(
    world: World, stream: Stream, person: Person, level: str, *, ends_on: date, state: str = "active"
) -> RecordRow:
    system = stream.choice(pool("data")["slots"]["service"])
    starts_on = min(world.today, ends_on) - timedelta(days=stream.integer(30, 200))
    filed_at = office_moment(stream, working_days_from(world.today, -stream.integer(20, 60)))
    record = RecordRow(
        id=world.ids.take("ACG"),
        kind="access_grant",
        title=f"Access to {system}",
        state=state,
        owner_id=world.staff.lead(person.team_id).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={"person_id": person.id, "system": system, "access_level": level},
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.hub.records.append(record)
    return record
