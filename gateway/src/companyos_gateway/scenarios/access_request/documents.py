"""The access asked for: who needs which system for what, who owns it, and which other grants there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.access_request.case import OWNER_TYPE, PRIVILEGED_TYPE, Level, RefusalGround, Variant
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person, Role

LEVELS = tuple(Level)
CLASSES = ("internal", "confidential", "restricted")
LONGEST_DAYS = (60, 240)
"""How long the policy grants a level at most, in days."""

NOT_OWNERS = ("executive-office", "security")
"""Teams whose leads own none of the systems in question: one decides about everything, one about privileged access."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """One access that is asked for, with what the policy makes of it."""

    record: RecordRow
    person: Person
    owner: Person
    system_class: str
    partner: str
    """A system that the policy keeps apart from this one."""
    other: str
    """A system that it does not."""
    variant: Variant
    ground: RefusalGround | None
    level: Level
    longest_days: int
    replaced: RecordRow | None
    conflicting_grant: RecordRow | None

    @property
    def system(self) -> str:
        """The system."""
        return str(self.record.fields["system"])

    @property
    def purpose(self) -> str:
        """The purpose of the access."""
        return str(self.record.fields["purpose"])

    @property
    def until(self) -> date:
        """The last day of the access, by the policy."""
        assert self.record.starts_on is not None
        assert self.record.ends_on is not None
        return min(self.record.ends_on, self.record.starts_on + timedelta(days=self.longest_days))

    @property
    def is_privileged(self) -> bool:
        """Return whether the decision is not the system owner's."""
        return self.level is Level.ADMIN or self.variant is Variant.OWN_SYSTEM

    @property
    def type_key(self) -> str:
        """The approval type that it goes by."""
        return PRIVILEGED_TYPE if self.is_privileged else OWNER_TYPE

    @property
    def role(self) -> Role:
        """The role that decides."""
        return Role.SECURITY_LEAD if self.is_privileged else Role.TEAM_LEAD


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_access(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Access:
    """Add what is asked for, the systems around it and the grants that the person has or had."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    variant = Variant.AS_ASKED if ground is not None else variant
    level = _level(stream, variant)
    owner = _owner(world, stream)
    person = _person(world, stream, owner, variant, ground)
    system, partner, other = stream.sample(pool("data")["slots"]["service"], 3)
    system_class = "restricted" if ground is RefusalGround.NOT_ADMITTED else stream.choice(CLASSES)
    _register(world, stream, system, owner, system_class)
    for name in (partner, other):
        _register(world, stream, name, _owner(world, stream), stream.choice(CLASSES))
    _reassign_grants(world, stream, person)
    longest = stream.integer(*LONGEST_DAYS)
    record = _requested_grant(world, stream, person, system, level, variant=variant, longest_days=longest)
    world.datahub.records.append(record)
    replaced = _replaced_grant(world, stream, record, level) if variant is Variant.REPLACING else None
    conflicting_grant = _conflicting_grant(world, stream, record, ground, partner, longest)
    if conflicting_grant is None:
        _add_harmless(world, stream, record, partner=partner, other=other)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, record)
    return Access(
        record=record,
        person=person,
        owner=owner,
        system_class=system_class,
        partner=partner,
        other=other,
        variant=variant,
        ground=ground,
        level=level,
        longest_days=longest,
        replaced=replaced,
        conflicting_grant=conflicting_grant,
    )


def _level(stream: Stream, variant: Variant) -> Level:
    if variant.is_trimmed or variant is Variant.OWN_SYSTEM:
        return stream.choice((Level.READ, Level.WRITE))
    return stream.choice((Level.WRITE, Level.ADMIN) if variant is Variant.REPLACING else LEVELS)


def _owner(world: WorldBuilder, stream: Stream) -> Person:
    teams = [team.id for team in world.staff.teams if team.id not in NOT_OWNERS]
    return world.staff.lead(stream.choice(teams))


def _person(
    world: WorldBuilder, stream: Stream, owner: Person, variant: Variant, ground: RefusalGround | None
) -> Person:
    if variant is Variant.OWN_SYSTEM:
        return owner
    if ground is RefusalGround.GONE:
        gone = [one for one in world.staff.people if not one.is_employed(world.today) and not one.roles]
        return stream.choice(gone)
    return stream.choice([one for one in world.staff.active() if not one.roles and one.id != world.agent_id])


def _register(world: WorldBuilder, stream: Stream, system: str, owner: Person, system_class: str) -> None:
    """Enter a system with its owner in the register."""
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(20, 60)))
    world.datahub.records.append(
        RecordRow(
            id=world.ids.take("DOC"),
            kind="document",
            title=texts()["register"]["title"].format(system=system),
            state="published",
            owner_id=owner.id,
            vendor_id=None,
            amount_cents=None,
            currency=None,
            starts_on=filed_at.date(),
            ends_on=None,
            fields={"document_type": "system", "system": system, "class": system_class},
            created_at=filed_at,
            updated_at=filed_at,
        )
    )


def _reassign_grants(world: WorldBuilder, stream: Stream, person: Person) -> None:
    """Give the grants that the company's usual records hold for the person to somebody else."""
    others = [one.id for one in world.staff.active() if one.id != person.id]
    for record in world.datahub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person.id:
            record.fields = {**record.fields, "person_id": stream.choice(others)}


def _requested_grant(
    world: WorldBuilder,
    stream: Stream,
    person: Person,
    system: str,
    level: Level,
    *,
    variant: Variant,
    longest_days: int,
) -> RecordRow:
    requested = stream.choice(LEVELS[LEVELS.index(level) + 1 :]) if variant.is_trimmed else level
    days = longest_days + stream.integer(15, 200) if variant.is_shortened else stream.integer(30, longest_days)
    starts_on = working_days_from(world.today, stream.integer(2, 12))
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(3, 12)))
    return RecordRow(
        id=world.ids.take("ACG"),
        kind="access_grant",
        title=f"Access to {system}: {stream.choice(texts()['works'])}",
        state="requested",
        owner_id=world.staff.lead(person.team_id).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=days),
        fields={
            "person_id": person.id,
            "system": system,
            "access_level": requested.value,
            "purpose": stream.choice(texts()["purposes"]),
        },
        created_at=filed_at,
        updated_at=filed_at,
    )


def _add_grant(
    world: WorldBuilder, stream: Stream, record: RecordRow, *, system: str, level: Level, state: str, ends_on: date
) -> RecordRow:
    """Add a grant that the person has or had, for other work."""
    works = [work for work in texts()["works"] if not record.title.endswith(work)]
    starts_on = min(world.today, ends_on) - timedelta(days=stream.integer(40, 200))
    granted = replace(
        record,
        id=world.ids.take("ACG"),
        title=f"Access to {system}: {stream.choice(works)}",
        state=state,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={**record.fields, "system": system, "access_level": level.value, "approval_ref": _reference(stream)},
        version=2,
    )
    world.datahub.records.append(granted)
    return granted


def _reference(stream: Stream) -> str:
    return f"APR-{stream.integer(100, 299)}"


def _replaced_grant(world: WorldBuilder, stream: Stream, record: RecordRow, level: Level) -> RecordRow:
    """Add an active grant of a lower level on the same system."""
    lower = stream.choice(LEVELS[: LEVELS.index(level)])
    ends_on = world.today + timedelta(days=stream.integer(20, 400))
    return _add_grant(
        world, stream, record, system=record.fields["system"], level=lower, state="active", ends_on=ends_on
    )


def _conflicting_grant(
    world: WorldBuilder,
    stream: Stream,
    record: RecordRow,
    ground: RefusalGround | None,
    partner: str,
    longest_days: int,
) -> RecordRow | None:
    """Add the active grant that makes this one a duplicate, or that it must be kept apart from."""
    level = Level(record.fields["access_level"])
    assert record.ends_on is not None
    if ground is RefusalGround.COVERED:
        reach = stream.choice(LEVELS[LEVELS.index(level) :])
        ends_on = record.ends_on + timedelta(days=stream.integer(0, longest_days))
        system = record.fields["system"]
        return _add_grant(world, stream, record, system=system, level=reach, state="active", ends_on=ends_on)
    if ground is RefusalGround.KEPT_APART:
        ends_on = record.ends_on + timedelta(days=stream.integer(0, 90))
        reach = stream.choice(LEVELS)
        return _add_grant(world, stream, record, system=partner, level=reach, state="active", ends_on=ends_on)
    return None


def _add_harmless(world: WorldBuilder, stream: Stream, record: RecordRow, *, partner: str, other: str) -> None:
    """Add a grant on the partner that is over, and an active one on a system that may go with this one."""
    past = world.today - timedelta(days=stream.integer(10, 90))
    state = stream.choice(("expired", "revoked"))
    _add_grant(world, stream, record, system=partner, level=stream.choice(LEVELS), state=state, ends_on=past)
    ahead = world.today + timedelta(days=stream.integer(20, 300))
    _add_grant(world, stream, record, system=other, level=stream.choice(LEVELS), state="active", ends_on=ahead)


def _add_namesake(world: WorldBuilder, stream: Stream, record: RecordRow) -> None:
    """Add a request of the same title for somebody else."""
    taken = record.fields["person_id"]
    others = [one for one in world.staff.active() if one.id != taken and not one.roles]
    purposes = [purpose for purpose in texts()["purposes"] if purpose != record.fields["purpose"]]
    fields = {**record.fields, "person_id": stream.choice(others).id, "purpose": stream.choice(purposes)}
    world.datahub.records.append(replace(record, id=world.ids.take("ACG"), fields=fields))
