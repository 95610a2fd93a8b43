"""The generator of handbook updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, Group
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import ApproverChain, plan_reactions
from companyos_gateway.scenarios.blocks.texts import draw_brief
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuiltTask,
    TicketScenario,
    buildable_kinds,
    draw_chaos,
    injections,
    set_agent,
)
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.handbook_update.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.handbook_update.documents import PageDraft, add_page, texts
from companyos_gateway.scenarios.handbook_update.policy import add_approval_type, add_hr_lead, add_policy
from companyos_gateway.scenarios.handbook_update.rubric import build_rubric
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = buildable_kinds(
    exclude=(
        Kind.STALE_METRIC,
        Kind.CONFLICTING_SOURCES,
        Kind.FAILED_PIPELINE,
        Kind.EXPIRED_CERTIFICATE,
        Kind.LIMIT_TOO_LOW,
    ),
    opt_in=OPT_IN_KINDS,
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_report_data_issue",
    "datahub_update_vendor",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class HandbookUpdate(TicketScenario[Case]):
    """Publish a handbook page by the policy: it agrees with what it quotes, HR approves, the old page is archived."""

    name = NAME
    held_out = frozenset({Variant.OUTDATED_SUCCESSOR.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 120
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
        """Draw a company, and put one handbook update with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a handbook update."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
    """Draw a company, and put one handbook update with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chaos_draw = draw_chaos(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chaos_draw.kinds
    world = generate_world(stream.child("world"))
    set_agent(world, stream.child("agent"), TEAM)
    page = add_page(world, stream.child("page"), kinds, must_refuse=chaos_draw.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), page, kinds)
    add_approval_type(world, policy_terms.policy)
    chain = add_hr_lead(world, stream.child("chain"), page, kinds)
    subject, words = page.draft.id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    plan = ticket_plan(world, page, kinds)
    task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    finish_world(world)
    case = Case(
        **task_ticket.case_fields(world, kinds, policy_terms.priority),
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
    return BuiltTask(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _refusal(page: PageDraft, policy: PolicyRow) -> Refusal | None:
    if page.ground is None:
        return None
    if page.ground is RefusalGround.OVERTAKEN:
        assert page.published is not None
        return Refusal(page.ground.value, (page.published.id,))
    return Refusal(page.ground.value, (policy.policy_id, policy.id))


def _struck_entities(case: Case, chain: ApproverChain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_page = {kind: case.document_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SIMILAR_NAMES: case.document_id,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: Role.HR_LEAD.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_page | own | chain.dead_ends


SCENARIO = HandbookUpdate()


TEAM = "people"


def ticket_plan(world: WorldBuilder, page: PageDraft, kinds: Collection[Kind]) -> TicketPlan:
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

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(title=draft.title.partition(": ")[2]) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["handbook"],
        duplicate_tags=["handbook", "publication"],
    )
