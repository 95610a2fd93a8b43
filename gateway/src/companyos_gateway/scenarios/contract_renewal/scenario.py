"""The generator of contract renewals."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import plan_reactions, struck_people
from companyos_gateway.scenarios.blocks.metrics import struck_metric
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
)
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.contract_renewal.case import (
    METRIC_KEY,
    NAME,
    TYPE_KEY,
    Case,
    RefusalGround,
    Variant,
)
from companyos_gateway.scenarios.contract_renewal.documents import Contract, add_contract, add_index, texts
from companyos_gateway.scenarios.contract_renewal.policy import (
    PolicyTerms,
    add_approval_types,
    add_approvers,
    add_policy,
)
from companyos_gateway.scenarios.contract_renewal.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

TEAM = "procurement"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
APPLICABLE = buildable_kinds(exclude=(Kind.EXPIRED_CERTIFICATE,))
"""An expired certificate is part of the work here, whatever the chaos."""

DISTRACTORS = (
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class ContractRenewal(TicketScenario[Case]):
    """Renew a contract: its papers in force, the risk of today, legal before finance, and the record says so."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.RECERTIFIED_AND_RETIERED.value})
    max_steps = 160
    distractors = DISTRACTORS
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        "datahub_update_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one contract renewal and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        contract = add_contract(world, stream.child("contract"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), contract, kinds)
        risk = add_index(world, stream.child("risk"), contract.vendor, contract.lookalike, contract.risk, kinds)
        add_approval_types(world, stream.child("types"), contract, policy_terms.policy, risk)
        counsel_id, chain = add_approvers(world, stream.child("chain"), contract, kinds)
        subject, words = contract.record.id, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
        plan = ticket_plan(world, contract, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        add_certificate_notice(world, stream.child("notice"), contract, task_ticket.ticket)
        finish_world(world)
        document = contract.certified.document
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(contract, policy_terms),
            variant=contract.variant,
            ground=contract.ground,
            contract_id=subject,
            vendor_id=contract.vendor.id,
            paper=contract.certified.paper,
            paper_id=document.id if document else None,
            tier=contract.risk.tier,
            highest_index=contract.risk.bars.highest,
            risk=risk,
            amount_cents=contract.amount_cents,
            term_years=contract.term_years,
            new_end=contract.new_end,
            role=contract.role,
            counsel_id=counsel_id,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        own = {Kind.SUPERSEDED_POLICY: case.policy_id, Kind.SIMILAR_NAMES: case.contract_id}
        return case, struck_people(chain, case.contract_id, case.role.value) | struck_metric(
            case.risk, METRIC_KEY
        ) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a contract renewal."""
        return build_rubric(case, company)


def _refusal(contract: Contract, policy_terms: PolicyTerms) -> Refusal | None:
    ground = contract.ground
    if ground is None:
        return None
    if ground is RefusalGround.COVERED:
        assert contract.covering is not None
        return Refusal(ground.reason_code, (contract.covering.id,))
    if ground is RefusalGround.RISK:
        return Refusal(ground.reason_code, (policy_terms.policy.policy_id, policy_terms.policy.id))
    behind = contract.certified.on_file.id if ground is RefusalGround.CERTIFICATE else contract.vendor.id
    return Refusal(ground.reason_code, (behind,))


SCENARIO = ContractRenewal()


def ticket_plan(world: WorldBuilder, contract: Contract, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words, record, vendor = texts(), contract.record, contract.vendor
    service = str(record.fields["service"])

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            contract=record.id,
            title=record.title,
            service=service,
            vendor=vendor.name,
            vendor_id=vendor.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        cites = ["record", "vendor"] if Kind.SIMILAR_NAMES in kinds else ["record", "vendor", "name"]
        return fill(stream, stream.choice(words["citations"][stream.choice(cites)]))

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(service=service, vendor=vendor.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["contract", "renewal"],
        duplicate_tags=["contract"],
    )


def add_certificate_notice(world: WorldBuilder, stream: Stream, contract: Contract, ticket: TicketRow) -> None:
    """Let a colleague say on the ticket that a certificate is still to come."""
    document = contract.certified.document
    if contract.variant is not Variant.AWAITED or document is None:
        return
    assert document.owner_id is not None
    add_later_comment(world, stream, ticket, author_id=document.owner_id, body=stream.choice(texts()["promises"]))
