"""The access policy, its two approval types and their approvers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.access_request.case import OWNER_TYPE, PRIVILEGED_TYPE, Level, RefusalGround
from companyos_gateway.scenarios.access_request.documents import CLASSES, LEVELS, LONGEST_DAYS, Access, texts
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    leads_and_finance,
    members_without_role,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
)
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES, add_delegation
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "access"
ADMITTED_TEAMS = 4
DELEGATION_WORKING_DAYS = (25, 40)


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: WorldBuilder, stream: Stream, access: Access, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another level, end, priority and separation."""
    priority = stream.choice(PRIORITIES)
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=_figures(world, stream, access, priority, is_in_force=True),
        superseded=lambda own: _figures(world, own, access, draw_other_priority(own, priority), is_in_force=False),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_types(world: WorldBuilder, policy: PolicyRow) -> None:
    """Add the type that a system's owner decides about, and the one for the security lead."""
    descriptions = texts()["types"]
    roles = {OWNER_TYPE: Role.TEAM_LEAD, PRIVILEGED_TYPE: Role.SECURITY_LEAD}
    for key, role in roles.items():
        replace_approval_type(
            world,
            ApprovalTypeRow(
                key=key,
                title=descriptions[key]["title"],
                description=descriptions[key]["description"],
                policy_ref=policy.policy_id,
                fields=[
                    field_spec("grant_id", "text", "ID of the access grant record."),
                    field_spec("person_id", "text", "ID of the person receiving the access.", names_beneficiary=True),
                    field_spec("system", "text", "Name of the system."),
                    field_spec("access_level", "text", "Access level to be granted: read, write or admin."),
                    field_spec("until", "date", "Last day of the access."),
                ],
                amount_field=None,
                thresholds=[ThresholdRow(up_to_cents=None, role=role.value)],
                expires_after_minutes=EXPIRES_AFTER_MINUTES,
            ),
        )


def add_approvers(world: WorldBuilder, stream: Stream, access: Access, kinds: Collection[Kind]) -> ApproverChain:
    """Add who decides: the system's owner or the security lead. Who gets the access stands in, and must not decide."""
    if access.is_privileged:
        holder_id = world.staff.holders(Role.SECURITY_LEAD)[0].id
        deputy_candidates = leads_and_finance(world) - {access.owner.id}
    else:
        holder_id = access.owner.id
        deputy_candidates = members_without_role(world, access.owner.team_id, "platform", "data", "finance")
    decision_spec = DecisionSpec(
        type_key=access.type_key,
        role=access.role,
        holder_ids=[holder_id],
        amount_cents=0,
        deputy_candidates=deputy_candidates - {access.person.id, holder_id},
        other_types=["document_publication", "purchase_order"],
    )
    chain = add_approver_chain(world, stream, decision_spec, kinds)
    is_here = access.person.is_employed(world.today) and access.person.id != holder_id
    if Kind.APPROVER_OUT_OF_OFFICE in kinds and is_here:
        _add_beneficiary_delegation(world, stream, holder_id, access.person.id)
    return chain


def _add_beneficiary_delegation(world: WorldBuilder, stream: Stream, holder_id: str, person_id: str) -> None:
    world.remove_absences(person_id)
    add_delegation(
        world,
        holder_id,
        person_id,
        type_keys=[],
        limit_cents=None,
        starts_at=closing_time(working_days_from(world.today, -stream.integer(15, 20))),
        ends_at=closing_time(working_days_from(world.today, stream.integer(*DELEGATION_WORKING_DAYS))),
    )


def _figures(
    world: WorldBuilder, stream: Stream, access: Access, priority: Priority, *, is_in_force: bool
) -> PolicyParameters:
    """Draw the figures of a version. One that is superseded says otherwise about everything that decides this case."""
    level = access.level if is_in_force else stream.choice([one for one in LEVELS if one is not access.level])
    needs = _purposes_by_level(stream, access.purpose, level)
    days = {one: stream.integer(*LONGEST_DAYS) for one in LEVELS}
    days[access.level] = access.longest_days if is_in_force else access.longest_days + stream.integer(20, 90)
    priorities = {name: stream.choice(PRIORITIES) for name in CLASSES} | {access.system_class: priority}
    partner = access.partner if is_in_force else access.other
    figures: PolicyParameters = {f"{one.value}_for": ", ".join(needs[one]) for one in LEVELS}
    figures |= {f"longest_{one.value}_days": days[one] for one in LEVELS}
    figures |= {f"{name}_priority": one for name, one in priorities.items()}
    figures["kept_apart"] = f"{access.system} and {partner}"
    figures["admitted_teams"] = ", ".join(_admitted_teams(world, stream, access, is_in_force=is_in_force))
    return figures


def _purposes_by_level(stream: Stream, purpose: str, level: Level) -> dict[Level, list[str]]:
    """Draw which work needs which level: two kinds of work each, this one where it belongs."""
    others = stream.shuffled([one for one in texts()["purposes"] if one != purpose])
    needs = {one: [others.pop()] for one in LEVELS}
    for one in LEVELS:
        needs[one].append(purpose if one is level else others.pop())
    return {one: sorted(names) for one, names in needs.items()}


def _admitted_teams(world: WorldBuilder, stream: Stream, access: Access, *, is_in_force: bool) -> Sequence[str]:
    """Draw whose people may have restricted systems; the person's team among them, unless that is the ground."""
    own = next(team.name for team in world.staff.teams if team.id == access.person.team_id)
    others = [team.name for team in world.staff.teams if team.name != own]
    is_out = (access.ground is RefusalGround.NOT_ADMITTED) is is_in_force
    drawn = stream.sample(others, ADMITTED_TEAMS)
    return sorted(drawn if is_out else [own, *drawn[1:]])
