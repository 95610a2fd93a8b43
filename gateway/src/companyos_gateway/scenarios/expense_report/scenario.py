"""The generator of expense reports."""

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
from companyos_gateway.scenarios.expense_report.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.expense_report.documents import Report, add_report, schedule_receipt, texts
from companyos_gateway.scenarios.expense_report.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.expense_report.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = buildable_kinds(
    exclude=(Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE),
    opt_in=OPT_IN_KINDS,
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_report_data_issue",
    "datahub_query_metric",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class ExpenseReport(TicketScenario[Case]):
    """Repay an expense by the policy: check record and receipts, get the approval its amount asks for, record it."""

    name = NAME
    texts = staticmethod(texts)
    team = FINANCE
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.SPLIT.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 140
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one expense report and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        report = add_report(world, stream.child("report"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), report, kinds)
        add_approval_type(world, stream.child("type"), report, policy_terms.policy)
        chain = add_approvers(world, stream.child("chain"), report, kinds)
        subject, words = report.records[0].id, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
        task_ticket = add_task_ticket(
            world, stream.child("desk"), ticket_plan(world, report, kinds), priority=policy_terms.priority, kinds=kinds
        )
        add_receipt_notice(world, stream.child("promise"), report, task_ticket.ticket)
        schedule_receipt(world, stream.child("receipt"), report)
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(report, policy_terms.policy),
            variant=report.papers,
            record_ids=tuple(record.id for record in report.records),
            owner_id=report.owner.id,
            amount_cents=report.amount_cents,
            role=report.role,
            holder_id=world.staff.lead(report.owner.team_id).id if report.role is Role.TEAM_LEAD else None,
            receipt_total_cents=report.receipt_total_cents,
            has_receipts=report.papers is not Variant.PER_DIEM,
            policy_id=policy_terms.policy.policy_id,
            paid_twin_id=report.paid_twin_id,
            kinds=kinds,
        )
        own = {Kind.SIMILAR_NAMES: case.record_ids[0], Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.record_ids[0], case.role.value) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an expense report."""
        return build_rubric(case, company)


def _refusal(report: Report, policy: PolicyRow) -> Refusal | None:
    if report.ground is None:
        return None
    if report.ground is RefusalGround.DUPLICATE:
        assert report.paid_twin_id is not None
        return Refusal(report.ground.value, (report.paid_twin_id,))
    return Refusal(report.ground.value, (policy.policy_id, policy.id))


SCENARIO = ExpenseReport()


def ticket_plan(world: WorldBuilder, report: Report, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words, first = texts(), report.records[0]

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            expense=first.id,
            title=first.title,
            owner=report.owner.name,
            owner_id=report.owner.id,
            purpose=report.purpose,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "owner", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=FINANCE,
        titles=[title.format(owner=report.owner.name, purpose=report.purpose) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["expenses"],
        duplicate_tags=["expenses", "repayment"],
    )


def add_receipt_notice(world: WorldBuilder, stream: Stream, report: Report, ticket: TicketRow) -> None:
    """Let the employee say on the ticket that the receipt is still to come."""
    if report.papers is not Variant.COMES:
        return
    body = stream.choice(texts()["receipts"]["comes"])
    add_later_comment(world, stream, ticket, author_id=report.owner.id, body=body)
