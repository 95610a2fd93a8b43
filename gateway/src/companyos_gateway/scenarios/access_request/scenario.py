"""Access requests: the lowest level and the end date that the work needs, approved by the system's owner, recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from itertools import combinations
from typing import cast

from companyos_gateway.scenarios import kit

ROLES = {"access_grant": kit.Role.TEAM_LEAD, "privileged_access": kit.Role.SECURITY_LEAD}
"""Role that decides about requests of each approval type."""

CLASSES = ("internal", "confidential", "restricted")
PRIORITY_SCALES = tuple(combinations(kit.PRIORITIES, len(CLASSES)))
"""Priorities that a policy may assign to the classes: the stricter the class, the higher the priority."""

TERM_STEP, LONGEST_STEPS = 10, (6, 24)
"""Step, in days, of the maximum terms for which the policy grants a level, and their range in steps."""

FIRST_GRANT_DAYS = 20
"""Number of days after the hiring of a person, and of their lead, from which on the person has grants."""

NOT_OWNERS = ("executive-office", "security")
"""Teams whose leads own none of the systems: the CEO's team, and the one that decides about privileged access."""

ADMITTED_TEAMS = 4


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


class RefusalGround(StrEnum):
    """Ground for refusing access; the value is the policy's reason code."""

    COVERED = "duplicate"
    KEPT_APART = "policy_violation"
    NOT_ADMITTED = "not_entitled"
    GONE = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Access:
    """A requested access. The policy in force keeps `partner`, but not `other`, apart from its system."""

    variant: Variant
    ground: RefusalGround | None
    record: kit.RecordRow
    person: kit.Person
    owner: kit.Person
    team_names: tuple[str, ...]
    """Names of all teams, starting with the person's."""
    system: str
    system_class: str
    partner: str
    other: str
    level: Level
    longest_days: int
    until: date
    """The last day of the access under the policy."""
    earlier: kit.RecordRow | None = None
    """The active grant that the new one replaces, or that is a ground for refusal."""

    @property
    def is_privileged(self) -> bool:
        """Return whether the security lead decides instead of the system's owner."""
        return self.level is Level.ADMIN or self.variant is Variant.OWN_SYSTEM


class AccessRequest(kit.DeclaredScenario[Access]):
    """Grant access as the policy allows: lowest sufficient level, permitted end, no conflicting duties, approval."""

    name, team, topic, max_steps = "access_request", "workplace", "access", 140
    tags, duplicate_tags = ("access",), ("access", "request")
    alternative_types = ROLES
    held_out = frozenset({Variant.OWN_SYSTEM.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW))
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_update_vendor")

    def draw(self, build: kit.BuildContext) -> Access:
        """Add the requested grant, entries of the system register, and the person's other grants."""
        world, stream = build.world, build.stream
        ground = build.draw_ground(RefusalGround)
        variant = stream.choice(list(Variant)) if ground is None else Variant.AS_ASKED
        is_trimmed = variant in (Variant.TRIMMED, Variant.TRIMMED_AND_SHORTENED)
        is_shortened = variant in (Variant.SHORTENED, Variant.TRIMMED_AND_SHORTENED)
        levels = LEVELS[1:] if variant is Variant.REPLACING else LEVELS[:-1] if is_trimmed else LEVELS
        level, longest_days = stream.choice(levels), TERM_STEP * stream.integer(*LONGEST_STEPS)
        system, partner, other = stream.sample(kit.pool("data")["slots"]["service"], 3)
        system_class = "restricted" if ground is RefusalGround.NOT_ADMITTED else stream.choice(CLASSES)
        owner = self._register(build, system, system_class)
        for name in (partner, other):
            self._register(build, name, stream.choice(CLASSES))
        people = [one for one in world.staff.active() if not one.roles and one.id != world.agent_id]
        if ground is RefusalGround.GONE:
            people = [one for one in world.staff.people if not one.is_employed(build.today) and not one.roles]
        person = owner if variant is Variant.OWN_SYSTEM else stream.choice(people)
        kit.reassign_grants(build, person.id)
        requested = stream.choice(LEVELS[LEVELS.index(level) + 1 :]) if is_trimmed else level
        days = longest_days + stream.integer(15, 200) if is_shortened else stream.integer(30, longest_days)
        starts_on = build.working_day(2, 12)
        purposes: dict[str, list[str]] = self.texts()["purposes"]
        purpose = stream.choice([one for one, given in purposes.items() if level in given and len(given) > 1])
        record = build.file_record(
            "access_grant",
            title=f"Access to {system}: {stream.choice(self.texts()['works'])}",
            state="requested",
            day=build.working_day_ago(5, 12),
            fields={"person_id": person.id, "system": system, "access_level": requested.value, "purpose": purpose},
            owner_id=world.staff.lead(person.team_id).id,
            starts_on=starts_on,
            ends_on=starts_on + timedelta(days=days),
        )
        if kit.Kind.SIMILAR_NAMES in build.kinds:
            others = [one.id for one in world.staff.active() if one.id != person.id and not one.roles]
            other_purpose = stream.choice([one for one in purposes if one != purpose])
            build.copy_record(record, {"person_id": stream.choice(others), "purpose": other_purpose})
        facts = Access(
            variant=variant,
            ground=ground,
            record=record,
            person=person,
            owner=owner,
            team_names=tuple(one.name for one in sorted(world.staff.teams, key=lambda team: team.id != person.team_id)),
            system=system,
            system_class=system_class,
            partner=partner,
            other=other,
            level=level,
            longest_days=longest_days,
            until=starts_on + timedelta(days=min(days, longest_days)),
        )
        return replace(facts, earlier=self._add_earlier(build, facts))

    def slots(self, facts: Access) -> Mapping[str, str]:
        """Return the grant, the system and the person."""
        named = {"grant": facts.record.id, "title": facts.record.title, "system": facts.system}
        return named | {"person_name": facts.person.name, "person_id": facts.person.id}

    def answers(self, build: kit.BuildContext, facts: Access) -> Mapping[str, kit.AcceptedValue]:
        """Return the purpose of the grant and the class of the system."""
        return {"purpose": facts.record.fields["purpose"], "system_class": facts.system_class}

    def figures(self, facts: Access, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw levels by purpose, maximum terms, priorities by class, admitted teams and systems kept apart."""
        purpose = facts.record.fields["purpose"]
        levels = [Level(one) for one in self.texts()["purposes"][purpose]]
        level = facts.level if in_force else stream.choice([one for one in levels if one is not facts.level])
        purposes = self._purposes_by_level(stream, purpose, level)
        longest_days = facts.longest_days + (0 if in_force else TERM_STEP * stream.integer(2, 9))
        days = _draw_terms(stream, facts.level, longest_days)
        place = CLASSES.index(facts.system_class)
        scales = [scale for scale in PRIORITY_SCALES if scale[place] == priority] or PRIORITY_SCALES
        priorities = dict(zip(CLASSES, stream.choice(scales), strict=True))
        own_team, *other_teams = facts.team_names
        admitted = stream.sample(other_teams, ADMITTED_TEAMS)
        if (facts.ground is RefusalGround.NOT_ADMITTED) is not in_force:
            admitted[0] = own_team
        return {
            **{f"{one.value}_for": ", ".join(purposes[one]) for one in LEVELS},
            **{f"longest_{one.value}_days": days[one] for one in LEVELS},
            **{f"{name}_priority": one for name, one in priorities.items()},
            "kept_apart": f"{facts.system} and {facts.partner if in_force else facts.other}",
            "admitted_teams": ", ".join(sorted(admitted)),
        }

    def priority(self, facts: Access, figures: kit.Figures, drawn: kit.Priority) -> kit.Priority:
        """Return the priority of the system's class."""
        return cast(kit.Priority, figures[f"{facts.system_class}_priority"])

    def _purposes_by_level(self, stream: kit.Stream, purpose: str, level: Level) -> dict[Level, list[str]]:
        """Draw two purposes for each level among those that may have it; `purpose` needs the given level."""
        drawn: dict[Level, list[str]] = {level: [purpose]}
        for one in reversed(LEVELS):
            taken = [name for names in drawn.values() for name in names]
            free = [name for name, levels in self.texts()["purposes"].items() if one in levels and name not in taken]
            given = drawn.get(one, [])
            drawn[one] = sorted([*given, *stream.sample(sorted({*free} - {purpose}), 2 - len(given))])
        return drawn

    def solution(self, facts: Access, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Grant the level and term of the policy, or refuse."""
        grant_id, person_id = facts.record.id, facts.person.id
        earlier_ids = [facts.earlier.id] if facts.earlier else []
        type_key = "privileged_access" if facts.is_privileged else "access_grant"
        request = kit.Request(
            type_key=type_key,
            subject=grant_id,
            role=ROLES[type_key],
            holder_ids=None if facts.is_privileged else frozenset({facts.owner.id}),
            excluded_ids=frozenset({person_id}),
            fields=kit.request_fields(
                grant_id=grant_id,
                person_id=person_id,
                system=facts.system,
                access_level=facts.level.value,
                until=facts.until,
            ),
        )
        granted = kit.RecordGoal(
            record_id=grant_id,
            state="active",
            ends_on=facts.until.isoformat(),
            fields={"access_level": facts.level.value},
            reference_field="approval_ref",
        )
        column = "state" if facts.ground is RefusalGround.KEPT_APART else "fields"
        decisive = kit.record_shown(earlier_ids[0], column) if earlier_ids else kit.person_shown(person_id)
        outcome = kit.Outcome(
            requests=(request,),
            goals=(granted, *(kit.RecordGoal(record_id=one, state="revoked") for one in earlier_ids)),
            facts=(kit.record_shown(grant_id), decisive),
            subjects=(grant_id, *earlier_ids),
        )
        against_ids = [person_id] if facts.ground is RefusalGround.GONE else earlier_ids
        refusal = kit.refusal_for(facts.ground, policy, *against_ids)
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def deputies(self, build: kit.BuildContext, facts: Access, request: kit.Request) -> set[str]:
        """Return team leads and Finance employees, or members of the system owner's team and of other teams."""
        if facts.is_privileged:
            return kit.leads_and_finance(build.world) - {facts.owner.id}
        return kit.members_without_role(build.world, facts.owner.team_id, "platform", "data", "finance")

    def _register(self, build: kit.BuildContext, system: str, system_class: str) -> kit.Person:
        """File a system's entry in the register, and return its owner."""
        staff, day = build.world.staff, build.working_day_ago(20, 60)
        owner = staff.lead(build.stream.choice([team.id for team in staff.teams if team.id not in NOT_OWNERS]))
        title = self.texts()["register"]["title"].format(system=system)
        fields = {"system": system, "class": system_class}
        build.file_document("system", title, day=day, fields=fields, owner_id=owner.id)
        return owner

    def _add_earlier(self, build: kit.BuildContext, facts: Access) -> kit.RecordRow | None:
        """Add earlier grants of the person; return the one that is replaced or a ground for refusal, if any."""
        stream, record = build.stream, facts.record

        def grant(system: str, levels: Sequence[Level], ends_on: date, state: str = "active") -> kit.RecordRow:
            works = [one for one in self.texts()["works"] if not record.title.endswith(one)]
            fields = {"system": system, "access_level": stream.choice(levels).value}
            fields["approval_ref"] = f"APR-{stream.integer(100, 299)}"
            hired_on = max(facts.person.employed_from, build.world.staff.person(str(record.owner_id)).employed_from)
            starts_on = min(build.today, ends_on) - timedelta(days=stream.integer(40, 200))
            starts_on = max(starts_on, hired_on + timedelta(days=FIRST_GRANT_DAYS))
            return build.copy_record(
                record,
                fields,
                filed_on=kit.working_days_from(starts_on, -stream.integer(2, 8)),
                title=f"Access to {system}: {stream.choice(works)}",
                state=state,
                starts_on=starts_on,
                ends_on=ends_on,
                version=2,
            )

        later = facts.until + timedelta(days=stream.integer(0, 90))
        if facts.ground is RefusalGround.COVERED:
            return grant(facts.system, LEVELS[LEVELS.index(facts.level) :], later)
        if facts.ground is RefusalGround.KEPT_APART:
            return grant(facts.partner, LEVELS, later)
        past = build.today - timedelta(days=stream.integer(10, 90))
        grant(facts.partner, LEVELS, past, state=stream.choice(("expired", "revoked")))
        grant(facts.other, LEVELS, later)
        if facts.variant is Variant.REPLACING:
            return grant(facts.system, LEVELS[: LEVELS.index(facts.level)], later)
        return None


def _draw_terms(stream: kit.Stream, given: Level, given_days: int) -> dict[Level, int]:
    """Draw the longest term of each level in days: the higher the level, the shorter its term."""
    days, place = {given: given_days}, LEVELS.index(given)
    for one in reversed(LEVELS[:place]):
        days[one] = max(days.values()) + TERM_STEP * stream.integer(1, 6)
    for one in LEVELS[place + 1 :]:
        shortest = min(days.values())
        days[one] = (shortest - stream.integer(shortest // 10, shortest // 3)) // TERM_STEP * TERM_STEP
    return days


SCENARIO = AccessRequest()
