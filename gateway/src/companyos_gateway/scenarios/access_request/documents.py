"""The requested access: the person, the system and its owner, and the person's other grants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

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

    record: kit.RecordRow
    person: kit.Person
    owner: kit.Person
    team_names: tuple[str, ...]
    """Names of all teams, the person's first."""
    system_class: str
    partner: str
    other: str
    variant: Variant
    ground: RefusalGround | None
    level: Level
    longest_days: int
    replaced: kit.RecordRow | None
    """The active grant on the same system that the new one replaces."""
    conflicting: kit.RecordRow | None
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


def add_access(build: kit.BuildContext) -> Access:
    """Add the requested grant, entries of the system register, and the person's other grants."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant)) if ground is None else Variant.AS_ASKED
    level = _draw_level(stream, variant)
    owner = _draw_owner(build)
    person = _draw_person(build, owner, variant, ground)
    system, partner, other = stream.sample(kit.pool("data")["slots"]["service"], 3)
    system_class = "restricted" if ground is RefusalGround.NOT_ADMITTED else stream.choice(CLASSES)
    _register(build, system, owner, system_class)
    for name in (partner, other):
        _register(build, name, _draw_owner(build), stream.choice(CLASSES))
    _reassign_grants(build, person)
    longest = stream.integer(*LONGEST_DAYS)
    record = _add_requested(build, person, system, level, variant=variant, longest_days=longest)
    conflicting = _add_conflicting(build, record, ground, partner, longest)
    if conflicting is None:
        _add_harmless(build, record, partner=partner, other=other)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        _add_similar(build, record)
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
        replaced=_add_replaced(build, record, level) if variant is Variant.REPLACING else None,
        conflicting=conflicting,
    )


def _texts() -> dict[str, Any]:
    return kit.load_texts(__file__)


def _draw_level(stream: kit.Stream, variant: Variant) -> Level:
    if variant.is_trimmed or variant is Variant.OWN_SYSTEM:
        return stream.choice((Level.READ, Level.WRITE))
    return stream.choice((Level.WRITE, Level.ADMIN) if variant is Variant.REPLACING else LEVELS)


def _draw_owner(build: kit.BuildContext) -> kit.Person:
    world, stream = build.world, build.stream
    return world.staff.lead(stream.choice([team.id for team in world.staff.teams if team.id not in NOT_OWNERS]))


def _draw_person(
    build: kit.BuildContext, owner: kit.Person, variant: Variant, ground: RefusalGround | None
) -> kit.Person:
    world, stream = build.world, build.stream
    if variant is Variant.OWN_SYSTEM:
        return owner
    if ground is RefusalGround.GONE:
        return stream.choice([one for one in world.staff.people if not one.is_employed(world.today) and not one.roles])
    return stream.choice([one for one in world.staff.active() if not one.roles and one.id != world.agent_id])


def _register(build: kit.BuildContext, system: str, owner: kit.Person, system_class: str) -> None:
    day = build.working_day_ago(20, 60)
    title = _texts()["register"]["title"].format(system=system)
    fields = {"document_type": "system", "system": system, "class": system_class}
    build.file_record(
        "document",
        title=title,
        state="published",
        day=day,
        fields=fields,
        owner_id=owner.id,
        starts_on=day,
    )


def _reassign_grants(build: kit.BuildContext, person: kit.Person) -> None:
    """Give the person's usual grants to somebody else, so that only the scenario's own grants count."""
    world, stream = build.world, build.stream
    others = [one.id for one in world.staff.active() if one.id != person.id]
    for record in world.datahub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person.id:
            record.fields = {**record.fields, "person_id": stream.choice(others)}


def _add_requested(
    build: kit.BuildContext, person: kit.Person, system: str, level: Level, *, variant: Variant, longest_days: int
) -> kit.RecordRow:
    world, stream = build.world, build.stream
    requested = stream.choice(LEVELS[LEVELS.index(level) + 1 :]) if variant.is_trimmed else level
    days = longest_days + stream.integer(15, 200) if variant.is_shortened else stream.integer(30, longest_days)
    starts_on = build.working_day(2, 12)
    fields = {
        "person_id": person.id,
        "system": system,
        "access_level": requested.value,
        "purpose": stream.choice(_texts()["purposes"]),
    }
    return build.file_record(
        "access_grant",
        title=f"Access to {system}: {stream.choice(_texts()['works'])}",
        state="requested",
        day=build.working_day_ago(3, 12),
        fields=fields,
        owner_id=world.staff.lead(person.team_id).id,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=days),
    )


def _add_grant(
    build: kit.BuildContext, record: kit.RecordRow, *, system: str, level: Level, state: str, ends_on: date
) -> kit.RecordRow:
    """Add an earlier grant of the person, for other work."""
    world, stream = build.world, build.stream
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


def _add_replaced(build: kit.BuildContext, record: kit.RecordRow, level: Level) -> kit.RecordRow:
    """Add an active grant of a lower level on the same system."""
    world, stream = build.world, build.stream
    lower, ends_on = stream.choice(LEVELS[: LEVELS.index(level)]), world.today + timedelta(days=stream.integer(20, 400))
    return _add_grant(build, record, system=record.fields["system"], level=lower, state="active", ends_on=ends_on)


def _add_conflicting(
    build: kit.BuildContext, record: kit.RecordRow, ground: RefusalGround | None, partner: str, longest_days: int
) -> kit.RecordRow | None:
    """Add the active grant that makes the request a duplicate, or on a system that is kept apart."""
    stream = build.stream
    assert record.ends_on is not None
    if ground is RefusalGround.COVERED:
        at_least = LEVELS[LEVELS.index(Level(record.fields["access_level"])) :]
        system, level, days = record.fields["system"], stream.choice(at_least), stream.integer(0, longest_days)
    elif ground is RefusalGround.KEPT_APART:
        system, level, days = partner, stream.choice(LEVELS), stream.integer(0, 90)
    else:
        return None
    ends_on = record.ends_on + timedelta(days=days)
    return _add_grant(build, record, system=system, level=level, state="active", ends_on=ends_on)


def _add_harmless(build: kit.BuildContext, record: kit.RecordRow, *, partner: str, other: str) -> None:
    """Add an ended grant on the partner, and an active one on a system that is not kept apart."""
    world, stream = build.world, build.stream
    past, ahead = (world.today + timedelta(days=days) for days in (-stream.integer(10, 90), stream.integer(20, 300)))
    state = stream.choice(("expired", "revoked"))
    _add_grant(build, record, system=partner, level=stream.choice(LEVELS), state=state, ends_on=past)
    _add_grant(build, record, system=other, level=stream.choice(LEVELS), state="active", ends_on=ahead)


def _add_similar(build: kit.BuildContext, record: kit.RecordRow) -> None:
    """Add a request with the same title for another person and purpose."""
    world, stream = build.world, build.stream
    taken = record.fields["person_id"]
    others = [one for one in world.staff.active() if one.id != taken and not one.roles]
    purposes = [purpose for purpose in _texts()["purposes"] if purpose != record.fields["purpose"]]
    fields = {**record.fields, "person_id": stream.choice(others).id, "purpose": stream.choice(purposes)}
    world.datahub.records.append(replace(record, id=world.ids.take("ACG"), fields=fields))
