"""The generator of handbook updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import plan_reactions, struck_people
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
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
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

TEAM = "people"
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
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.OUTDATED_SUCCESSOR.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 120
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one handbook update and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        page = add_page(world, stream.child("page"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), page, kinds)
        add_approval_type(world, policy_terms.policy)
        chain = add_hr_lead(world, stream.child("chain"), kinds)
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
        own = {Kind.SIMILAR_NAMES: case.document_id, Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.document_id, Role.HR_LEAD.value) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a handbook update."""
        return build_rubric(case, company)


def _refusal(page: PageDraft, policy: PolicyRow) -> Refusal | None:
    if page.ground is None:
        return None
    if page.ground is RefusalGround.OVERTAKEN:
        assert page.published is not None
        return Refusal(page.ground.value, (page.published.id,))
    return Refusal(page.ground.value, (policy.policy_id, policy.id))


SCENARIO = HandbookUpdate()


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
