"""Access requests: the least level and end date that the work needs, approved by the system's owner and recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.access_request.documents import (
    CLASSES,
    LEVELS,
    LONGEST_DAYS,
    Access,
    Level,
    RefusalGround,
    Variant,
    add_access,
)

OWNER_TYPE, PRIVILEGED_TYPE = "access_grant", "privileged_access"
ADMITTED_TEAMS = 4


class AccessRequest(kit.DeclaredScenario[Access]):
    """Grant access by the policy: least level and end, no duties mixed, owner's approval, recorded, resolved."""

    name, team, topic, max_steps = "access_request", "workplace", "access", 140
    tags, duplicate_tags = ("access",), ("access", "request")
    held_out = frozenset({Variant.OWN_SYSTEM.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW))
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_update_vendor")

    def draw(self, build: kit.BuildContext) -> Access:
        """Add the requested access."""
        return add_access(build)

    def slots(self, facts: Access) -> Mapping[str, str]:
        """Name the grant, the system and the person."""
        return {
            "grant": facts.record.id,
            "title": facts.record.title,
            "system": facts.system,
            "person_name": facts.person.name,
            "person_id": facts.person.id,
        }

    def answers(self, build: kit.BuildContext, facts: Access) -> Mapping[str, kit.AcceptedValue]:
        """Name the purpose of the grant and the class of the system."""
        return {"purpose": facts.record.fields["purpose"], "system_class": facts.system_class}

    def figures(self, facts: Access, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw levels by purpose, maximum terms, priorities by class, admitted teams and systems kept apart."""
        level = facts.level if in_force else stream.choice([one for one in LEVELS if one is not facts.level])
        purposes = self._purposes_by_level(stream, facts.record.fields["purpose"], level)
        days = {one: stream.integer(*LONGEST_DAYS) for one in LEVELS}
        days[facts.level] = facts.longest_days + (0 if in_force else stream.integer(20, 90))
        priorities = {name: stream.choice(kit.PRIORITIES) for name in CLASSES} | {facts.system_class: priority}
        own, *others = facts.team_names
        excludes_own = (facts.ground is RefusalGround.NOT_ADMITTED) is in_force
        admitted = stream.sample(others, ADMITTED_TEAMS if excludes_own else ADMITTED_TEAMS - 1)
        return {
            **{f"{one.value}_for": ", ".join(purposes[one]) for one in LEVELS},
            **{f"longest_{one.value}_days": days[one] for one in LEVELS},
            **{f"{name}_priority": one for name, one in priorities.items()},
            "kept_apart": f"{facts.system} and {facts.partner if in_force else facts.other}",
            "admitted_teams": ", ".join(sorted(admitted if excludes_own else [own, *admitted])),
        }

    def _purposes_by_level(self, stream: kit.Stream, purpose: str, level: Level) -> dict[Level, list[str]]:
        """Draw two purposes for each level; the given one needs the given level."""
        others = stream.shuffled([one for one in self.texts()["purposes"] if one != purpose])
        return {one: sorted([others.pop(), purpose if one is level else others.pop()]) for one in LEVELS}

    def solution(self, facts: Access, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Grant the level and term of the policy, or refuse."""
        grant_id, conflicting = facts.record.id, facts.conflicting
        until = facts.until.isoformat()
        granted = kit.RecordGoal(
            record_id=grant_id,
            state="active",
            ends_on=until,
            fields={"access_level": facts.level.value},
            reference_field="approval_ref",
        )
        revoked = [kit.RecordGoal(record_id=facts.replaced.id, state="revoked")] if facts.replaced else []
        ground = kit.record_shown(conflicting.id) if conflicting else kit.person_shown(facts.person.id)
        outcome = kit.Outcome(
            requests=(self._request(facts),),
            goals=(granted, *revoked),
            facts=(kit.record_shown(grant_id), ground),
            subjects=(grant_id, *([conflicting.id] if conflicting else [])),
        )
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=_refusal(facts, policy))

    def _request(self, facts: Access) -> kit.Request:
        return kit.Request(
            type_key=PRIVILEGED_TYPE if facts.is_privileged else OWNER_TYPE,
            subject=facts.record.id,
            role=kit.Role.SECURITY_LEAD if facts.is_privileged else kit.Role.TEAM_LEAD,
            holder_ids=None if facts.is_privileged else frozenset({facts.owner.id}),
            barred_ids=frozenset({facts.person.id}),
            fields=kit.request_fields(
                grant_id=facts.record.id,
                person_id=facts.person.id,
                system=facts.system,
                access_level=facts.level.value,
                until=facts.until,
            ),
        )

    def other_requests(self, request: kit.Request) -> Sequence[kit.Request]:
        """Return the other of the two types of access approval."""
        if request.type_key == OWNER_TYPE:
            return [replace(request, type_key=PRIVILEGED_TYPE, role=kit.Role.SECURITY_LEAD)]
        return [replace(request, type_key=OWNER_TYPE, role=kit.Role.TEAM_LEAD)]

    def deputies(self, build: kit.BuildContext, facts: Access, request: kit.Request) -> set[str]:
        """Return the heads of departments, or colleagues of the system's owner."""
        if facts.is_privileged:
            return kit.leads_and_finance(build.world) - {facts.owner.id}
        return kit.members_without_role(build.world, facts.owner.team_id, "platform", "data", "finance")

    def add_events(self, build: kit.BuildContext, facts: Access, ticket: kit.TaskTicket) -> None:
        """Let the person who receives the access stand in for an absent approver; they must not decide."""
        world = build.world
        person = facts.person
        holder_id = world.staff.holders(kit.Role.SECURITY_LEAD)[0].id if facts.is_privileged else facts.owner.id
        if (
            kit.Kind.APPROVER_OUT_OF_OFFICE not in build.kinds
            or not person.is_employed(world.today)
            or person.id == holder_id
        ):
            return
        world.remove_absences(person.id)
        starts_at = kit.closing_time(build.working_day_ago(15, 20))
        ends_at = kit.closing_time(build.working_day(*kit.DELEGATION_WORKING_DAYS))
        kit.add_delegation(
            world, holder_id, person.id, type_keys=[], limit_cents=None, starts_at=starts_at, ends_at=ends_at
        )


def _refusal(facts: Access, policy: kit.PolicyRow) -> kit.Refusal | None:
    if facts.ground is None:
        return None
    if facts.ground is RefusalGround.GONE:
        return kit.Refusal(facts.ground.value, (facts.person.id,))
    if facts.conflicting is not None:
        return kit.Refusal(facts.ground.value, (facts.conflicting.id,))
    return kit.Refusal(facts.ground.value, kit.policy_refs(policy))


SCENARIO = AccessRequest()
