"""Parking permits: granted for no longer than the policy allows, approved by the HR lead and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from companyos_gateway.scenarios import kit

TYPE_KEY = "parking_permit"
PURPOSES = ("shift work", "carpool", "field work")
SHORTEST_KM, LONGEST_KM = (6, 20), 60
"""Range of the shortest commute for which the policy grants a permit, and the longest commute that occurs."""

LONGEST_DAYS = (90, 270)
"""Range of the maximum term of a permit."""


class Variant(StrEnum):
    """The structure of an instance: what has to be done in it."""

    AS_REQUESTED = "as_requested"
    SHORTENED = "shortened"
    RENEWAL = "renewal"


class Ground(StrEnum):
    """Why a permit must be refused; the value is the reason code of the policy."""

    SHORT_COMMUTE = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Permit:
    """The facts of an instance. `renewed` is the permit that the requested one replaces."""

    variant: Variant
    person: kit.Person
    record: kit.RecordRow
    renewed: kit.RecordRow | None
    shortest_km: int
    longest_days: int
    until: date
    ground: Ground | None

    @property
    def distance_km(self) -> int:
        """The length of the commute."""
        return int(self.record.fields["distance_km"])


class ParkingPermit(kit.DeclaredScenario[Permit]):
    """Grant a parking permit by the policy."""

    name, team, topic, max_steps = "parking_permit", "workplace", "parking", 120
    tags, duplicate_tags = ("parking",), ("parking", "request")
    held_out = frozenset({Variant.RENEWAL.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(
        exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW, kit.Kind.SIMILAR_NAMES)
    )
    opt_in_kinds = frozenset()
    distractors = ("ticketdesk_create_ticket", "datahub_report_data_issue", "approvalflow_create_delegation")

    def draw(self, build: kit.BuildContext) -> Permit:
        """File the requested permit, and the one that it renews."""
        world, stream = build.world, build.stream
        variant, shortest_km = stream.choice(list(Variant)), stream.integer(*SHORTEST_KM)
        ground = build.draw_ground(Ground)
        distances = (2, shortest_km - 1) if ground is Ground.SHORT_COMMUTE else (shortest_km, LONGEST_KM)
        long_ago = world.today - timedelta(days=LONGEST_DAYS[1] + 30)
        candidates = [one for one in world.staff.active() if not one.roles and one.employed_from <= long_ago]
        person = stream.choice([one for one in candidates if one.id != world.agent_id])
        fields = {
            "person_id": person.id,
            "garage": stream.choice(self.texts()["garages"]),
            "purpose": stream.choice(PURPOSES),
            "distance_km": stream.integer(*distances),
        }
        longest_days = stream.integer(*LONGEST_DAYS)
        excess_days = stream.integer(10, 90) if variant is Variant.SHORTENED else -stream.integer(0, 60)
        starts_on = build.working_day(6, 12)
        record = _file_permit(build, fields, state="requested", starts_on=starts_on, days=longest_days + excess_days)
        renewed = None
        if variant is Variant.RENEWAL:
            began_on = starts_on - timedelta(days=longest_days - 10)
            fields = {**fields, "approval_ref": f"APR-{stream.integer(100, 299)}"}
            renewed = _file_permit(build, fields, state="active", starts_on=began_on, days=longest_days)
        return Permit(
            variant=variant,
            person=person,
            record=record,
            renewed=renewed,
            shortest_km=shortest_km,
            longest_days=longest_days,
            until=starts_on + timedelta(days=longest_days + min(excess_days, 0)),
            ground=ground,
        )

    def slots(self, facts: Permit) -> Mapping[str, str]:
        """Name the permit, its fields and the person."""
        named = {"permit": facts.record.id, "person_id": facts.person.id, "person_name": facts.person.name}
        return named | {name: str(facts.record.fields[name]) for name in ("garage", "purpose", "distance_km")}

    def figures(self, facts: Permit, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw priorities, the shortest commute and the maximum term; another version decides the case differently."""
        purpose, distance_km = facts.record.fields["purpose"], facts.distance_km
        is_short = facts.ground is Ground.SHORT_COMMUTE
        other_km = stream.integer(1, distance_km) if is_short else distance_km + stream.integer(1, 15)
        other_days = facts.longest_days + stream.integer(20, 90)
        priorities = {name: stream.choice(kit.PRIORITIES) for name in PURPOSES} | {purpose: priority}
        return {
            **{f"{name.replace(' ', '_')}_priority": one for name, one in priorities.items()},
            "shortest_commute_km": facts.shortest_km if in_force else other_km,
            "longest_days": facts.longest_days if in_force else other_days,
        }

    def solution(self, facts: Permit, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Grant the permit for the term of the policy, or refuse it."""
        permit, until = facts.record, facts.until.isoformat()
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=permit.id,
            role=kit.Role.HR_LEAD,
            excluded_ids=frozenset({facts.person.id}),
            fields=kit.request_fields(
                permit_id=permit.id, person_id=facts.person.id, garage=permit.fields["garage"], until=facts.until
            ),
        )
        granted = kit.RecordGoal(record_id=permit.id, state="active", ends_on=until, reference_field="approval_ref")
        revoked = [kit.RecordGoal(record_id=facts.renewed.id, state="revoked")] if facts.renewed else []
        outcome = kit.Outcome(
            requests=(request,),
            goals=(granted, *revoked),
            facts=(kit.record_shown(permit.id),),
            subjects=(permit.id,),
        )
        refusal = None if facts.ground is None else kit.Refusal(facts.ground.value, kit.policy_refs(policy))
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def deputies(self, build: kit.BuildContext, facts: Permit, request: kit.Request) -> set[str]:
        """Return the heads of departments."""
        return {build.world.staff.lead(team.id).id for team in build.world.staff.teams if team.id != "executive-office"}


def _file_permit(
    build: kit.BuildContext, fields: dict[str, object], *, state: str, starts_on: date, days: int
) -> kit.RecordRow:
    filed_on = kit.working_days_from(min(starts_on, build.today), -build.stream.integer(5, 12))
    return build.file_record(
        "access_grant",
        title=f"Parking permit: {fields['garage']}",
        state=state,
        day=filed_on,
        fields=fields,
        owner_id=build.world.staff.lead("workplace").id,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=days),
    )


SCENARIO = ParkingPermit()
