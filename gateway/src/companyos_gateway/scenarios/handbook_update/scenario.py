"""The generator of handbook updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.handbook_update.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.handbook_update.documents import PageDraft, add_page, texts
from companyos_gateway.scenarios.handbook_update.policy import add_approval_type, add_hr_lead, add_policy
from companyos_gateway.scenarios.handbook_update.rubric import build_rubric
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
    held_out = frozenset({Variant.OUTDATED_SUCCESSOR.value})
    asked_for = ASKED_FOR
    max_steps = 120
    distractors = DISTRACTORS
    tools = DESK_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one handbook update with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a handbook update."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one handbook update with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    page = add_page(world, stream.child("page"), kinds, must_refuse=chances.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), page, kinds)
    add_approval_type(world, policy_terms.policy)
    chain = add_hr_lead(world, stream.child("chain"), page, kinds)
    subject, words = page.draft.id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    plan = ticket_plan(world, page, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **entry.facts(world, kinds, policy_terms.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(page, policy_terms.policy),
        variant=page.variant,
        document_id=page.draft.id,
        predecessor_id=page.published.id if page.published else None,
        revision=page.revision,
        quoted=page.quoted,
        rule_id=page.rule.policy_id,
        policy_id=policy_terms.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _refusal(page: PageDraft, policy: PolicyRow) -> Refusal | None:
    if page.ground is None:
        return None
    if page.ground is RefusalGround.OVERTAKEN:
        assert page.published is not None
        return Refusal(page.ground.value, (page.published.id,))
    return Refusal(page.ground.value, (policy.policy_id, policy.id))


def _struck_entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_page = {kind: case.document_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.document_id,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: Role.HR_LEAD.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_page | own | chain.dead_ends


SCENARIO = HandbookUpdate()


TEAM = "people"


def ticket_plan(world: World, page: PageDraft, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, draft = texts(), page.draft

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            document=draft.id,
            title=draft.title,
            revision=page.revision,
            owner=page.owner.name,
            owner_id=page.owner.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "owner", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(title=draft.title.partition(": ")[2]) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["handbook"],
        double_tags=["handbook", "publication"],
    )
