"""The generator of vendor onboardings."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import plan_reactions, struck_people
from companyos_gateway.scenarios.blocks.metrics import struck_metric
from companyos_gateway.scenarios.blocks.ticket import add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    REFUSAL_SHARE,
    BuildContext,
    BuiltTask,
    TicketScenario,
    buildable_kinds,
)
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, NAME, REASON_CODE, TYPE_KEY, Case, Variant
from companyos_gateway.scenarios.vendor_onboarding.documents import (
    OnboardingDocuments,
    add_score,
    add_vendor_and_contract,
    texts,
    ticket_plan,
)
from companyos_gateway.scenarios.vendor_onboarding.policy import add_approval_type, add_cfo, add_policy
from companyos_gateway.scenarios.vendor_onboarding.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_shared.wire.company import Company, Role

__all__ = ["ALWAYS", "REFUSAL_SHARE", "SCENARIO", "BuiltTask"]

ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC, Kind.APPROVER_OUT_OF_OFFICE)
TASK_TOOLS = (
    "ticketdesk_list_tickets",
    "ticketdesk_search_tickets",
    "ticketdesk_get_ticket",
    "ticketdesk_update_ticket",
    "ticketdesk_transition_ticket",
    "ticketdesk_assign_ticket",
    "ticketdesk_verify_ticket",
    "ticketdesk_complete_checklist_item",
    "ticketdesk_add_comment",
    "ticketdesk_list_comments",
    "ticketdesk_unlink_tickets",
    "ticketdesk_link_approval",
    "datahub_query_metric",
    "datahub_refresh_metric",
    "datahub_get_refresh_job",
    "datahub_list_refresh_jobs",
    "datahub_get_source",
    "datahub_search_records",
    "datahub_get_record",
    "datahub_get_vendor",
    "datahub_search_people",
    "datahub_get_person",
    "datahub_get_approver",
    "datahub_get_calendar",
    "datahub_search_policies",
    "datahub_get_policy",
    "approvalflow_list_approval_types",
    "approvalflow_get_approval_type",
    "approvalflow_list_delegations",
    "approvalflow_submit_approval",
    "approvalflow_get_approval",
    "approvalflow_list_approvals",
    "approvalflow_provide_information",
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "datahub_update_vendor",
    "datahub_update_record",
    "datahub_report_data_issue",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)
"""Tools that are offered with the task's own and are not needed for it."""


class VendorOnboarding(TicketScenario[Case]):
    """Onboard a vendor by the policy: triage and verify its ticket, read its score fresh, get the approval, resolve."""

    name = NAME
    texts = staticmethod(texts)
    always = ALWAYS
    applicable = buildable_kinds(opt_in=OPT_IN_KINDS)
    held_out = frozenset({Variant.TIERED_AND_RAISED.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 150
    distractors = DISTRACTORS
    tools = TASK_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one onboarding and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        must_refuse = context.must_refuse
        documents = add_vendor_and_contract(world, stream.child("papers"), kinds)
        policy_terms = add_policy(world, stream.child("rulebook"), documents, kinds)
        score = add_score(
            world, stream.child("score"), documents, policy_terms.minimum_score, must_refuse=must_refuse, kinds=kinds
        )
        has_risk_tier = add_approval_type(world, stream.child("type"), policy_terms.policy, score)
        chain = add_cfo(world, stream.child("chain"), documents, kinds)
        words, vendor_id = texts()["decisions"], documents.vendor.id
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=vendor_id, words=words, kinds=kinds)
        plan = ticket_plan(world, documents, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        finish_world(world)
        policy = policy_terms.policy
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=Refusal(REASON_CODE, (policy.policy_id, policy.id)) if must_refuse else None,
            variant=Variant.of(has_risk_tier=has_risk_tier, raises=policy_terms.raises),
            vendor_id=vendor_id,
            contract_id=documents.contract.id,
            fixed_fields=_fixed_fields(documents, has_risk_tier=has_risk_tier),
            policy_id=policy.policy_id,
            policy_version=policy.version,
            minimum_score=policy_terms.minimum_score,
            score=score,
            kinds=kinds,
        )
        own = {
            Kind.SUPERSEDED_POLICY: case.policy_id,
            Kind.SIMILAR_NAMES: case.vendor_id,
            Kind.EXPIRED_CERTIFICATE: case.vendor_id,
        }
        return case, struck_people(chain, case.vendor_id, Role.CFO.value) | struck_metric(case.score, METRIC_KEY) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an onboarding."""
        return build_rubric(case, company)


def _fixed_fields(documents: OnboardingDocuments, *, has_risk_tier: bool) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "vendor_id": documents.vendor.id,
        "contract_id": documents.contract.id,
        "amount_cents": documents.amount_cents,
    }
    return {**fields, "risk_tier": documents.vendor.risk_tier} if has_risk_tier else fields


SCENARIO = VendorOnboarding()
