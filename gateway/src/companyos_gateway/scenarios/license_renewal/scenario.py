"""The generator of licence renewals."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
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
from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.license_renewal.documents import Licence, add_days_left, add_licence, texts
from companyos_gateway.scenarios.license_renewal.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.license_renewal.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

TEAM = "procurement"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
DISTRACTORS = (
    "datahub_update_vendor",
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class LicenseRenewal(TicketScenario[Case]):
    """Renew a licence by the policy: fresh days left, right size and term, approved, recorded, resolved."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = buildable_kinds(opt_in=OPT_IN_KINDS)
    held_out = frozenset({Variant.RESIZED_AND_CAPPED.value})
    opt_in_kinds = OPT_IN_KINDS
    max_steps = 140
    distractors = DISTRACTORS
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one licence renewal and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        licence = add_licence(world, stream.child("licence"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), licence, kinds)
        days_left = add_days_left(world, stream.child("days"), licence, policy_terms.window_days, kinds=kinds)
        add_approval_type(world, stream.child("type"), licence, policy=policy_terms.policy, days_left=days_left)
        chain = add_approvers(world, stream.child("chain"), licence, kinds)
        subject, words = licence.record.id, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
        plan = ticket_plan(world, licence, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(licence, policy_terms.policy),
            variant=licence.variant,
            ground=licence.ground,
            licence_id=licence.record.id,
            vendor_id=licence.vendor.id,
            seats=licence.seats,
            amount_cents=licence.amount_cents,
            new_end=licence.new_end,
            role=licence.role,
            days_left=days_left,
            window_days=policy_terms.window_days,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        own = {
            Kind.SUPERSEDED_POLICY: case.policy_id,
            Kind.SIMILAR_NAMES: case.licence_id,
            Kind.EXPIRED_CERTIFICATE: case.vendor_id,
        }
        return case, struck_people(chain, case.licence_id, case.role.value) | struck_metric(
            case.days_left, METRIC_KEY
        ) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a licence renewal."""
        return build_rubric(case, company)


def _refusal(licence: Licence, policy: PolicyRow) -> Refusal | None:
    if licence.ground is None:
        return None
    if licence.ground is RefusalGround.SUSPENDED:
        return Refusal(licence.ground.value, (licence.vendor.id,))
    if licence.ground is RefusalGround.COVERED:
        assert licence.covering is not None
        return Refusal(licence.ground.value, (licence.covering.id,))
    return Refusal(licence.ground.value, (policy.policy_id, policy.id))


SCENARIO = LicenseRenewal()


def ticket_plan(world: WorldBuilder, licence: Licence, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words, record = texts(), licence.record

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            licence=record.id,
            title=record.title,
            product=licence.product,
            vendor=licence.vendor.name,
            vendor_id=licence.vendor.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "vendor" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(product=licence.product) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["licence", "renewal"],
        duplicate_tags=["licence"],
    )
