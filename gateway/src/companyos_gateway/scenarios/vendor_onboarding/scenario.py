"""The generator of vendor onboardings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, Group
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import ApproverChain, plan_reactions
from companyos_gateway.scenarios.blocks.texts import draw_brief
from companyos_gateway.scenarios.blocks.ticket import add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    REFUSAL_SHARE,
    BuiltTask,
    TicketScenario,
    buildable_kinds,
    draw_chaos,
    injections,
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
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

__all__ = ["ALWAYS", "REFUSAL_SHARE", "SCENARIO", "BuiltTask", "build"]

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
    held_out = frozenset({Variant.TIERED_AND_RAISED.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 150
    distractors = DISTRACTORS
    tools = TASK_TOOLS + DISTRACTORS

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
        """Draw a company, and put one onboarding with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an onboarding."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
    """Draw a company, and put one onboarding with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chaos_draw = draw_chaos(stream, profile, overrides, applicable=buildable_kinds(opt_in=OPT_IN_KINDS), always=ALWAYS)
    kinds, must_refuse = chaos_draw.kinds, chaos_draw.must_refuse
    world = generate_world(stream.child("world"))
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
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return BuiltTask(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _fixed_fields(documents: OnboardingDocuments, *, has_risk_tier: bool) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "vendor_id": documents.vendor.id,
        "contract_id": documents.contract.id,
        "amount_cents": documents.amount_cents,
    }
    return {**fields, "risk_tier": documents.vendor.risk_tier} if has_risk_tier else fields


def _struck_entities(case: Case, chain: ApproverChain, kinds: Collection[Kind]) -> dict[Kind, str]:
    of_papers = {
        Kind.STALE_METRIC: case.score.metric_id,
        Kind.FAILED_PIPELINE: case.score.source_id,
        Kind.CONFLICTING_SOURCES: METRIC_KEY,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: "cfo",
    }
    on_vendor = {kind: case.vendor_id for kind in kinds if kind.group is Group.PEOPLE}
    on_vendor |= dict.fromkeys((Kind.SIMILAR_NAMES, Kind.EXPIRED_CERTIFICATE), case.vendor_id)
    return dict.fromkeys(kinds, case.ticket_key) | on_vendor | of_papers | chain.dead_ends


SCENARIO = VendorOnboarding()
