"""The generator of access requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.access_request.case import NAME, Case, RefusalGround, Variant
from companyos_gateway.scenarios.access_request.documents import Access, add_access, texts
from companyos_gateway.scenarios.access_request.policy import add_approval_types, add_approvers, add_policy
from companyos_gateway.scenarios.access_request.rubric import build_rubric
from companyos_gateway.scenarios.parts.deciders import Chain, plan_reactions
from companyos_gateway.scenarios.parts.entry import EntryPlan, add_entry
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
from companyos_gateway.world.draft import World
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
    held_out = frozenset({Variant.OWN_SYSTEM.value})
    max_steps = 140
    distractors = DISTRACTORS
    tools = DESK_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one access request with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an access request."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one access request with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    access = add_access(world, stream.child("access"), kinds, must_refuse=chances.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), access, kinds)
    add_approval_types(world, policy_terms.policy)
    chain = add_approvers(world, stream.child("chain"), access, kinds)
    subject, words = access.record.id, texts()["decisions"]
    plan_reactions(
        world, stream.child("reactions"), type_key=access.type_key, subject=subject, words=words, kinds=kinds
    )
    plan = ticket_plan(world, access, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, policy_terms.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(access, policy_terms.policy),
        variant=access.variant,
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
        conflicting_grant_id=None if access.conflicting_grant is None else access.conflicting_grant.id,
        policy_id=policy_terms.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _refusal(access: Access, policy: PolicyRow) -> Refusal | None:
    if access.ground is None:
        return None
    if access.ground is RefusalGround.GONE:
        return Refusal(access.ground.value, (access.person.id,))
    if access.conflicting_grant is not None:
        return Refusal(access.ground.value, (access.conflicting_grant.id,))
    return Refusal(access.ground.value, (policy.policy_id, policy.id))


def _struck_entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_grant = {kind: case.grant_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.grant_id,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_grant | own | chain.dead_ends


SCENARIO = AccessRequest()


TEAM = "workplace"


def ticket_plan(world: World, access: Access, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, record = texts(), access.record

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            grant=record.id,
            title=record.title,
            system=access.system,
            person_name=access.person.name,
            person_id=access.person.id,
            colleague=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "number", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(system=access.system, person_name=access.person.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["access"],
        double_tags=["access", "request"],
    )
