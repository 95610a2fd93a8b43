"""The generator of handbook updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.handbook_update.case import NAME, TYPE_KEY, Case, Ground, Shape
from companyos_gateway.scenarios.handbook_update.pages import Page, add_page, texts
from companyos_gateway.scenarios.handbook_update.rubric import build_rubric
from companyos_gateway.scenarios.handbook_update.rules import add_approval_type, add_hr_lead, add_rules
from companyos_gateway.scenarios.handbook_update.ticket import TEAM, entry_plan
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
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = data_and_people(
    without=(
        Kind.STALE_METRIC,
        Kind.CONFLICTING_SOURCES,
        Kind.FAILED_PIPELINE,
        Kind.EXPIRED_CERTIFICATE,
        Kind.LIMIT_TOO_LOW,
    ),
    also=ASKED_FOR,
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_report_data_issue",
    "datahub_update_vendor",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class HandbookUpdate(StagedScenario[Case]):
    """Publish a handbook page by the policy: it agrees with what it quotes, HR approves, the old page is archived."""

    name = NAME
    held_out = frozenset({Shape.OUTDATED_SUCCESSOR.value})
    asked_for = ASKED_FOR
    max_steps = 120
    distractors = DISTRACTORS
    tools = DESK_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one handbook update with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a handbook update."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one handbook update with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    page = add_page(world, stream.child("page"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), page, kinds)
    add_approval_type(world, rules.policy)
    chain = add_hr_lead(world, stream.child("chain"), page, kinds)
    subject, words = page.draft.id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    plan = entry_plan(world, page, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(page, rules.policy),
        shape=page.shape,
        document_id=page.draft.id,
        predecessor_id=page.published.id if page.published else None,
        revision=page.revision,
        quoted=page.quoted,
        rule_id=page.rule.policy_id,
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, chain, kinds)))


def _refusal(page: Page, policy: PolicyRow) -> Refusal | None:
    if page.ground is None:
        return None
    if page.ground is Ground.OVERTAKEN:
        assert page.published is not None
        return Refusal(page.ground.value, (page.published.id,))
    return Refusal(page.ground.value, (policy.policy_id, policy.id))


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_page = {kind: case.document_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.document_id,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: Role.HR_LEAD.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_page | own | chain.dead_ends


SCENARIO = HandbookUpdate()
