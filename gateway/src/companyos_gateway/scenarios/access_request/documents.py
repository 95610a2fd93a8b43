"""The requested access: the person, the system and its owner, and the person's other grants."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.documents import file_record
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person

CLASSES = ("internal", "confidential", "restricted")
LONGEST_DAYS = (60, 240)
"""Range of the maximum number of days for which the policy grants a level."""

NOT_OWNERS = ("executive-office", "security")
"""Teams whose leads own none of the systems: the CEO's, and the one that decides about privileged access."""


class Level(StrEnum):
    """Access level, in ascending order."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


LEVELS = tuple(Level)


class Variant(StrEnum):
    """Variant of the case: how the grant differs from the request."""

    AS_ASKED = "as_asked"
    TRIMMED = "trimmed"
    SHORTENED = "shortened"
    TRIMMED_AND_SHORTENED = "trimmed_and_shortened"
    REPLACING = "replacing"
    OWN_SYSTEM = "own_system"

    @property
    def is_trimmed(self) -> bool:
        """Return whether the request exceeds what the work needs."""
        return self in (Variant.TRIMMED, Variant.TRIMMED_AND_SHORTENED)

    @property
    def is_shortened(self) -> bool:
        """Return whether the requested term exceeds the policy."""
        return self in (Variant.SHORTENED, Variant.TRIMMED_AND_SHORTENED)


class RefusalGround(StrEnum):
    """Why access must be refused; the value is the policy's reason code."""

    COVERED = "duplicate"
    KEPT_APART = "policy_violation"
    NOT_ADMITTED = "not_entitled"
    GONE = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Access:
    """A requested access. `partner` is a system that the policy in force keeps apart from it, `other` is not."""

    record: RecordRow
    person: Person
    owner: Person
    team_names: tuple[str, ...]
    """Names of all teams, the person's first."""
    system_class: str
    partner: str
    other: str
    variant: Variant
    ground: RefusalGround | None
    level: Level
    longest_days: int
    replaced: RecordRow | None
    """The active grant on the same system that the new one replaces."""
    conflicting: RecordRow | None
    """The active grant that is a ground for refusal."""

    @property
    def system(self) -> str:
        """The system."""
        return str(self.record.fields["system"])

    @property
    def until(self) -> date:
        """The last day of the access under the policy."""
        starts_on, ends_on = self.record.starts_on, self.record.ends_on
        assert starts_on is not None
        assert ends_on is not None
        return min(ends_on, starts_on + timedelta(days=self.longest_days))

    @property
    def is_privileged(self) -> bool:
        """Return whether the security lead decides instead of the system's owner."""
        return self.level is Level.ADMIN or self.variant is Variant.OWN_SYSTEM


def add_access(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Access:
    """Add the requested grant, entries of the system register, and the person's other grants."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant)) if ground is None else Variant.AS_ASKED
    level = _draw_level(stream, variant)
    owner = _draw_owner(world, stream)
    person = _draw_person(world, stream, owner, variant, ground)
    system, partner, other = stream.sample(pool("data")["slots"]["service"], 3)
    system_class = "restricted" if ground is RefusalGround.NOT_ADMITTED else stream.choice(CLASSES)
    _register(world, stream, system, owner, system_class)
    for name in (partner, other):
        _register(world, stream, name, _draw_owner(world, stream), stream.choice(CLASSES))
    _reassign_grants(world, stream, person)
    longest = stream.integer(*LONGEST_DAYS)
    record = _add_requested(world, stream, person, system, level, variant=variant, longest_days=longest)
    conflicting = _add_conflicting(world, stream, record, ground, partner, longest)
    if conflicting is None:
        _add_harmless(world, stream, record, partner=partner, other=other)
    if Kind.SIMILAR_NAMES in kinds:
        _add_similar(world, stream, record)
    teams = world.staff.teams
    return Access(
        record=record,
        person=person,
        owner=owner,
        team_names=tuple(one.name for one in sorted(teams, key=lambda team: team.id != person.team_id)),
        system_class=system_class,
        partner=partner,
        other=other,
        variant=variant,
        ground=ground,
        level=level,
        longest_days=longest,
        replaced=_add_replaced(world, stream, record, level) if variant is Variant.REPLACING else None,
        conflicting=conflicting,
    )


def _texts() -> dict[str, Any]:
    return load_texts(__file__)


def _draw_level(stream: Stream, variant: Variant) -> Level:
    if variant.is_trimmed or variant is Variant.OWN_SYSTEM:
        return stream.choice((Level.READ, Level.WRITE))
    return stream.choice((Level.WRITE, Level.ADMIN) if variant is Variant.REPLACING else LEVELS)


def _draw_owner(world: WorldBuilder, stream: Stream) -> Person:
    return world.staff.lead(stream.choice([team.id for team in world.staff.teams if team.id not in NOT_OWNERS]))


def _draw_person(
    world: WorldBuilder, stream: Stream, owner: Person, variant: Variant, ground: RefusalGround | None
) -> Person:
    if variant is Variant.OWN_SYSTEM:
        return owner
    if ground is RefusalGround.GONE:
        return stream.choice([one for one in world.staff.people if not one.is_employed(world.today) and not one.roles])
    return stream.choice([one for one in world.staff.active() if not one.roles and one.id != world.agent_id])


def _register(world: WorldBuilder, stream: Stream, system: str, owner: Person, system_class: str) -> None:
    day = working_days_from(world.today, -stream.integer(20, 60))
    title = _texts()["register"]["title"].format(system=system)
    fields = {"document_type": "system", "system": system, "class": system_class}
    file_record(
        world,
        stream,
        "document",
        title=title,
        state="published",
        day=day,
        fields=fields,
        owner_id=owner.id,
        starts_on=day,
    )


def _reassign_grants(world: WorldBuilder, stream: Stream, person: Person) -> None:
    """Give the person's usual grants to somebody else, so that only the scenario's own grants count."""
    others = [one.id for one in world.staff.active() if one.id != person.id]
    for record in world.datahub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person.id:
            record.fields = {**record.fields, "person_id": stream.choice(others)}


def _add_requested(
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
    fields = {
        "person_id": person.id,
        "system": system,
        "access_level": requested.value,
        "purpose": stream.choice(_texts()["purposes"]),
    }
    return file_record(
        world,
        stream,
        "access_grant",
        title=f"Access to {system}: {stream.choice(_texts()['works'])}",
        state="requested",
        day=working_days_from(world.today, -stream.integer(3, 12)),
        fields=fields,
        owner_id=world.staff.lead(person.team_id).id,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=days),
    )


def _add_grant(
    world: WorldBuilder, stream: Stream, record: RecordRow, *, system: str, level: Level, state: str, ends_on: date
) -> RecordRow:
    """Add an earlier grant of the person, for other work."""
    works = [work for work in _texts()["works"] if not record.title.endswith(work)]
    reference = f"APR-{stream.integer(100, 299)}"
    starts_on = min(world.today, ends_on) - timedelta(days=stream.integer(40, 200))
    granted = replace(
        record,
        id=world.ids.take("ACG"),
        title=f"Access to {system}: {stream.choice(works)}",
        state=state,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={**record.fields, "system": system, "access_level": level.value, "approval_ref": reference},
        version=2,
    )
    world.datahub.records.append(granted)
    return granted


def _add_replaced(world: WorldBuilder, stream: Stream, record: RecordRow, level: Level) -> RecordRow:
    """Add an active grant of a lower level on the same system."""
    lower, ends_on = stream.choice(LEVELS[: LEVELS.index(level)]), world.today + timedelta(days=stream.integer(20, 400))
    return _add_grant(
        world, stream, record, system=record.fields["system"], level=lower, state="active", ends_on=ends_on
    )


def _add_conflicting(
    world: WorldBuilder,
    stream: Stream,
    record: RecordRow,
    ground: RefusalGround | None,
    partner: str,
    longest_days: int,
) -> RecordRow | None:
    """Add the active grant that makes the request a duplicate, or on a system that is kept apart."""
    assert record.ends_on is not None
    if ground is RefusalGround.COVERED:
        at_least = LEVELS[LEVELS.index(Level(record.fields["access_level"])) :]
        system, level, days = record.fields["system"], stream.choice(at_least), stream.integer(0, longest_days)
    elif ground is RefusalGround.KEPT_APART:
        system, level, days = partner, stream.choice(LEVELS), stream.integer(0, 90)
    else:
        return None
    ends_on = record.ends_on + timedelta(days=days)
    return _add_grant(world, stream, record, system=system, level=level, state="active", ends_on=ends_on)


def _add_harmless(world: WorldBuilder, stream: Stream, record: RecordRow, *, partner: str, other: str) -> None:
    """Add an ended grant on the partner, and an active one on a system that is not kept apart."""
    past, ahead = (world.today + timedelta(days=days) for days in (-stream.integer(10, 90), stream.integer(20, 300)))
    state = stream.choice(("expired", "revoked"))
    _add_grant(world, stream, record, system=partner, level=stream.choice(LEVELS), state=state, ends_on=past)
    _add_grant(world, stream, record, system=other, level=stream.choice(LEVELS), state="active", ends_on=ahead)


def _add_similar(world: WorldBuilder, stream: Stream, record: RecordRow) -> None:
    """Add a request with the same title for another person and purpose."""
    taken = record.fields["person_id"]
    others = [one for one in world.staff.active() if one.id != taken and not one.roles]
    purposes = [purpose for purpose in _texts()["purposes"] if purpose != record.fields["purpose"]]
    fields = {**record.fields, "person_id": stream.choice(others).id, "purpose": stream.choice(purposes)}
    world.datahub.records.append(replace(record, id=world.ids.take("ACG"), fields=fields))
