"""The generator of invoices on purchase orders."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
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
from companyos_gateway.scenarios.purchase_order.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.purchase_order.documents import (
    PurchaseDocuments,
    add_purchase_documents,
    schedule_inspection,
    texts,
)
from companyos_gateway.scenarios.purchase_order.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.purchase_order.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY,)
APPLICABLE = buildable_kinds(exclude=(Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE))
DISTRACTORS = (
    "datahub_update_vendor",
    "datahub_report_data_issue",
    "datahub_query_metric",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class PurchaseOrder(TicketScenario[Case]):
    """Pay an invoice by the policy: order, receipts and invoice agree, who is entitled says yes; else it is held."""

    name = NAME
    texts = staticmethod(texts)
    team = FINANCE
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.CREDITED.value})
    max_steps = 130
    distractors = DISTRACTORS
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one invoice and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        documents = add_purchase_documents(world, stream.child("papers"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), documents, kinds)
        add_approval_type(world, stream.child("type"), documents, policy_terms.policy)
        chain = add_approvers(world, stream.child("chain"), documents, kinds)
        schedule_inspection(world, stream.child("inspection"), documents)
        subject, words = documents.invoice.id, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
        plan = ticket_plan(world, documents, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        add_inspection_notice(world, stream.child("notice"), documents, task_ticket.ticket)
        finish_world(world)
        amounts = documents.amounts
        credited = {"credited_quantity": amounts.credited, "credited_cents": amounts.credited_cents}
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(documents),
            variant=documents.variant,
            ground=documents.ground,
            invoice_id=subject,
            order_id=documents.order.id,
            receipt_ids=tuple(receipt.id for receipt in documents.receipts),
            paid_twin_id=documents.paid_twin.id if documents.paid_twin else None,
            invoiced_before=amounts.invoiced_before,
            price_difference_cents=amounts.invoice_price - amounts.order_price,
            credited=credited if amounts.credited else {},
            amount_cents=amounts.amount_cents,
            closes_order=amounts.closes_order,
            role=amounts.role,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        own = {
            Kind.SUPERSEDED_POLICY: case.policy_id,
            Kind.SIMILAR_NAMES: case.invoice_id,
            Kind.EXPIRED_CERTIFICATE: documents.vendor.id,
        }
        return case, struck_people(chain, case.invoice_id, case.role.value) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an invoice."""
        return build_rubric(case, company)


def _refusal(documents: PurchaseDocuments) -> Refusal | None:
    if documents.ground is None:
        return None
    if documents.ground is RefusalGround.DUPLICATE:
        assert documents.paid_twin is not None
        return Refusal(documents.ground.reason_code, (documents.paid_twin.id,))
    behind = documents.sender if documents.ground is RefusalGround.VENDOR else documents.order
    return Refusal(documents.ground.reason_code, (behind.id,))


SCENARIO = PurchaseOrder()


def ticket_plan(world: WorldBuilder, documents: PurchaseDocuments, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            invoice=documents.invoice.id,
            number=documents.number,
            item=documents.item,
            vendor=documents.sender.name,
            vendor_id=documents.sender.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "vendor" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=FINANCE,
        titles=[title.format(vendor=documents.sender.name, item=documents.item) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["invoices"],
        duplicate_tags=["invoices", "payables"],
    )


def add_inspection_notice(world: WorldBuilder, stream: Stream, documents: PurchaseDocuments, ticket: TicketRow) -> None:
    """Let a colleague say on the ticket that goods are still being inspected."""
    if documents.variant is not Variant.INSPECTED:
        return
    receipt = documents.receipts[-1]
    assert receipt.owner_id is not None
    add_later_comment(world, stream, ticket, author_id=receipt.owner_id, body=stream.choice(texts()["inspections"]))
