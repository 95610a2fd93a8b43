"""The generator of audits."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.audit_remediation.case import NAME, Case, RefusalGround, RemediedRequest, Variant
from companyos_gateway.scenarios.audit_remediation.documents import AuditedRequests, add_pending_requests, texts
from companyos_gateway.scenarios.audit_remediation.policy import (
    add_approval_types,
    add_approvers,
    add_holds_and_reports,
    add_policy,
    reporter,
)
from companyos_gateway.scenarios.audit_remediation.rubric import build_rubric
from companyos_gateway.scenarios.blocks.approvers import struck_people
from companyos_gateway.scenarios.blocks.documents import APPROVAL_SUBJECTS
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
)
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS, TICKET_TOOLS
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

TEAM = "security"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = buildable_kinds(
    exclude=(
        Kind.STALE_METRIC,
        Kind.CONFLICTING_SOURCES,
        Kind.FAILED_PIPELINE,
        Kind.EXPIRED_CERTIFICATE,
        Kind.RANDOM_REJECTION,
        Kind.INFORMATION_REQUEST,
        Kind.SLOW_DECISION,
    )
)
AUDIT_TOOLS = (
    "approvalflow_list_approval_types",
    "approvalflow_get_approval_type",
    "approvalflow_list_delegations",
    "approvalflow_get_approval",
    "approvalflow_list_approvals",
    "approvalflow_cancel_approval",
    "approvalflow_escalate_approval",
    "approvalflow_add_approval_note",
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "datahub_report_data_issue",
    "approvalflow_submit_approval",
    "approvalflow_withdraw_approval",
    "approvalflow_revoke_delegation",
)


class AuditRemediation(TicketScenario[Case]):
    """Remedy approvals that break the policy: cancel or escalate each for its reason, leave every other alone."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.EVERYTHING.value})
    max_steps = 150
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + AUDIT_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one audit and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        own = stream.child("stack")
        audited_requests = add_pending_requests(
            world, own, own.choice(APPROVAL_SUBJECTS), kinds, must_refuse=context.must_refuse
        )
        policy_terms = add_policy(world, stream.child("rules"), audited_requests, kinds)
        add_approval_types(world, audited_requests, policy_terms.policy, kinds)
        chain = add_approvers(world, stream.child("chain"), audited_requests, kinds)
        ground_id = add_holds_and_reports(world, stream.child("papers"), audited_requests)
        plan = ticket_plan(world, audited_requests)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        task_ticket.ticket.reporter_id = reporter(
            world, stream.child("reporter"), policy_terms, audited_requests.ground, exclude=world.agent_id
        )
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(audited_requests, task_ticket.ticket.reporter_id, ground_id),
            variant=audited_requests.variant,
            ground=audited_requests.ground,
            type_key=audited_requests.audited.type_key,
            remedied_requests=tuple(
                RemediedRequest(row.id, breach, int(row.fields["amount_cents"]))
                for row, breach in audited_requests.breaches_found
            ),
            role=audited_requests.role,
            policy_refs=(policy_terms.policy.policy_id, policy_terms.policy.id),
            reporter_id=task_ticket.ticket.reporter_id,
            ground_id=ground_id,
            kinds=kinds,
        )
        others = {Kind.SIMILAR_NAMES: case.type_key, Kind.SUPERSEDED_POLICY: case.policy_refs[0]}
        return case, struck_people(chain, case.role.value, case.role.value) | others

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an audit."""
        return build_rubric(case, company)


def _refusal(audited_requests: AuditedRequests, reporter_id: str, ground_id: str | None) -> Refusal | None:
    if audited_requests.ground is None:
        return None
    if audited_requests.ground is RefusalGround.NOT_ORDERED:
        return Refusal(audited_requests.ground.value, (reporter_id,))
    assert ground_id is not None
    return Refusal(audited_requests.ground.value, (ground_id,))


SCENARIO = AuditRemediation()


def ticket_plan(world: WorldBuilder, audited_requests: AuditedRequests) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            title=audited_requests.audited.title,
            first_day=audited_requests.first_day.isoformat(),
            person=stream.choice(world.staff.active()).name,
        )

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(title=audited_requests.audited.title) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["orders"])),
        fill=fill,
        words=words,
        duplicate_texts=words["double"]["texts"],
        tags=["audit"],
        duplicate_tags=["audit", "approvals"],
    )
