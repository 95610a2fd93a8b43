"""The generator of invoices on purchase orders."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
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
from companyos_gateway.scenarios.purchase_order.case import NAME, TYPE_KEY, Case, Ground, Shape
from companyos_gateway.scenarios.purchase_order.papers import Papers, add_papers, plan_inspection, texts
from companyos_gateway.scenarios.purchase_order.rubric import build_rubric
from companyos_gateway.scenarios.purchase_order.rules import add_approval_type, add_deciders, add_rules
from companyos_gateway.scenarios.purchase_order.ticket import add_notice, entry_plan
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY,)
APPLICABLE = data_and_people(without=(Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE))
DISTRACTORS = (
    "datahub_update_vendor",
    "datahub_report_data_issue",
    "datahub_query_metric",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class PurchaseOrder(StagedScenario[Case]):
    """Pay an invoice by the policy: order, receipts and invoice agree, who is entitled says yes; else it is held."""

    name = NAME
    held_out = frozenset({Shape.CREDITED.value})
    max_steps = 130
    distractors = DISTRACTORS
    tools = (
        *DESK_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one invoice with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an invoice."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one invoice with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), FINANCE)
    papers = add_papers(world, stream.child("papers"), kinds, must_refuse=chances.must_refuse)
    plan_inspection(world, stream.child("inspection"), papers)
    rules = add_rules(world, stream.child("rules"), papers, kinds)
    add_approval_type(world, stream.child("type"), papers, rules.policy)
    chain = add_deciders(world, stream.child("chain"), papers, kinds)
    subject, words = papers.invoice.id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    plan = entry_plan(world, papers, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    add_notice(world, stream.child("notice"), papers, entry.ticket)
    finish_world(world)
    amounts = papers.amounts
    credited = {"credited_quantity": amounts.credited, "credited_cents": amounts.credited_cents}
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(papers),
        shape=papers.shape,
        ground=papers.ground,
        invoice_id=subject,
        order_id=papers.order.id,
        receipt_ids=tuple(receipt.id for receipt in papers.receipts),
        paid_twin_id=papers.paid_twin.id if papers.paid_twin else None,
        invoiced_before=amounts.invoiced_before,
        price_difference_cents=amounts.invoice_price - amounts.order_price,
        credited=credited if amounts.credited else {},
        amount_cents=amounts.amount_cents,
        closes_order=amounts.closes_order,
        role=amounts.role,
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, papers, chain)))


def _refusal(papers: Papers) -> Refusal | None:
    if papers.ground is None:
        return None
    if papers.ground is Ground.DUPLICATE:
        assert papers.paid_twin is not None
        return Refusal(papers.ground.reason_code, (papers.paid_twin.id,))
    behind = papers.sender if papers.ground is Ground.VENDOR else papers.order
    return Refusal(papers.ground.reason_code, (behind.id,))


def _entities(case: Case, papers: Papers, chain: Chain) -> dict[Kind, str]:
    kinds: Collection[Kind] = case.kinds
    on_invoice = {kind: case.invoice_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: case.invoice_id,
        Kind.EXPIRED_CERTIFICATE: papers.vendor.id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_invoice | own | chain.dead_ends


SCENARIO = PurchaseOrder()
