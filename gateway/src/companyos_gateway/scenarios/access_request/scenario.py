"""The generator of access requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.access_request.case import NAME, Case, RefusalGround, Variant
from companyos_gateway.scenarios.access_request.documents import Access, add_access, texts
from companyos_gateway.scenarios.access_request.policy import add_approval_types, add_approvers, add_policy
from companyos_gateway.scenarios.access_request.rubric import build_rubric
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
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

TEAM = "workplace"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = buildable_kinds(
    exclude=(
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


class AccessRequest(TicketScenario[Case]):
    """Grant access by the policy: least level and end, no duties mixed, owner's approval, recorded, resolved."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.OWN_SYSTEM.value})
    max_steps = 140
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one access request and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        access = add_access(world, stream.child("access"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), access, kinds)
        add_approval_types(world, policy_terms.policy)
        chain = add_approvers(world, stream.child("chain"), access, kinds)
        subject, words = access.record.id, texts()["decisions"]
        plan_reactions(
            world, stream.child("reactions"), type_key=access.type_key, subject=subject, words=words, kinds=kinds
        )
        plan = ticket_plan(world, access, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
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
        own = {Kind.SIMILAR_NAMES: case.grant_id, Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.grant_id, case.role.value) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an access request."""
        return build_rubric(case, company)


def _refusal(access: Access, policy: PolicyRow) -> Refusal | None:
    if access.ground is None:
        return None
    if access.ground is RefusalGround.GONE:
        return Refusal(access.ground.value, (access.person.id,))
    if access.conflicting_grant is not None:
        return Refusal(access.ground.value, (access.conflicting_grant.id,))
    return Refusal(access.ground.value, (policy.policy_id, policy.id))


SCENARIO = AccessRequest()


def ticket_plan(world: WorldBuilder, access: Access, kinds: Collection[Kind]) -> TicketPlan:
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

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(system=access.system, person_name=access.person.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["access"],
        duplicate_tags=["access", "request"],
    )
