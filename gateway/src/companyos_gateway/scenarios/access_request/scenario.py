"""The generator of access requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.access_request.access import Access, add_access, texts
from companyos_gateway.scenarios.access_request.case import NAME, Case, Ground, Shape
from companyos_gateway.scenarios.access_request.rubric import build_rubric
from companyos_gateway.scenarios.access_request.rules import add_approval_types, add_deciders, add_rules
from companyos_gateway.scenarios.access_request.ticket import TEAM, entry_plan
from companyos_gateway.scenarios.parts.deciders import Chain, plan_reactions
from companyos_gateway.scenarios.parts.entry import add_entry
from companyos_gateway.scenarios.parts.staging import (
    Staged,
    StagedScenario,
    act_for,
    data_and_people,
    draw_chances,
    injections,
)
from companyos_gateway.scenarios.parts.tools import APPROVAL_TOOLS, DESK_TOOLS, PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = data_and_people(
    without=(
        Kind.STALE_METRIC,
        Kind.CONFLICTING_SOURCES,
        Kind.FAILED_PIPELINE,
        Kind.EXPIRED_CERTIFICATE,
        Kind.LIMIT_TOO_LOW,
    )
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_report_data_issue",
    "datahub_update_vendor",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class AccessRequest(StagedScenario[Case]):
    """Grant access by the policy: least level and end, no duties mixed, owner's approval, recorded, resolved."""

    name = NAME
    held_out = frozenset({Shape.OWN_SYSTEM.value})
    max_steps = 140
    distractors = DISTRACTORS
    tools = DESK_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one access request with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an access request."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one access request with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    access = add_access(world, stream.child("access"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), access, kinds)
    add_approval_types(world, rules.policy)
    chain = add_deciders(world, stream.child("chain"), access, kinds)
    subject, words = access.record.id, texts()["decisions"]
    plan_reactions(
        world, stream.child("reactions"), type_key=access.type_key, subject=subject, words=words, kinds=kinds
    )
    plan = entry_plan(world, access, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(access, rules.policy),
        shape=access.shape,
        ground=access.ground,
        grant_id=access.record.id,
        person_id=access.person.id,
        system=access.system,
        level=access.level,
        until=access.until,
        type_key=access.type_key,
        role=access.role,
        holder_id=None if access.is_privileged else access.owner.id,
        replaced_id=None if access.replaced is None else access.replaced.id,
        in_the_way_id=None if access.in_the_way is None else access.in_the_way.id,
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, chain, kinds)))


def _refusal(access: Access, policy: PolicyRow) -> Refusal | None:
    if access.ground is None:
        return None
    if access.ground is Ground.GONE:
        return Refusal(access.ground.value, (access.person.id,))
    if access.in_the_way is not None:
        return Refusal(access.ground.value, (access.in_the_way.id,))
    return Refusal(access.ground.value, (policy.policy_id, policy.id))


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_grant = {kind: case.grant_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.grant_id,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_grant | own | chain.dead_ends


SCENARIO = AccessRequest()
