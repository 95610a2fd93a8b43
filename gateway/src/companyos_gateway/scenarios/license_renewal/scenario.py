"""The generator of licence renewals."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, Group
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import ApproverChain, plan_reactions
from companyos_gateway.scenarios.blocks.texts import draw_brief
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuiltTask,
    TicketScenario,
    buildable_kinds,
    draw_chaos,
    injections,
    set_agent,
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
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

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

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
        """Draw a company, and put one licence renewal with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a licence renewal."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask[Case]:
    """Draw a company, and put one licence renewal with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chaos_draw = draw_chaos(stream, profile, overrides, applicable=buildable_kinds(opt_in=OPT_IN_KINDS), always=ALWAYS)
    kinds = chaos_draw.kinds
    world = generate_world(stream.child("world"))
    set_agent(world, stream.child("agent"), TEAM)
    licence = add_licence(world, stream.child("licence"), kinds, must_refuse=chaos_draw.must_refuse)
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
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return BuiltTask(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _refusal(licence: Licence, policy: PolicyRow) -> Refusal | None:
    if licence.ground is None:
        return None
    if licence.ground is RefusalGround.SUSPENDED:
        return Refusal(licence.ground.value, (licence.vendor.id,))
    if licence.ground is RefusalGround.COVERED:
        assert licence.covering is not None
        return Refusal(licence.ground.value, (licence.covering.id,))
    return Refusal(licence.ground.value, (policy.policy_id, policy.id))


def _struck_entities(case: Case, chain: ApproverChain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_licence = {kind: case.licence_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.STALE_METRIC: case.days_left.metric_id,
        Kind.FAILED_PIPELINE: case.days_left.source_id,
        Kind.CONFLICTING_SOURCES: METRIC_KEY,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: case.licence_id,
        Kind.EXPIRED_CERTIFICATE: case.vendor_id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_licence | own | chain.dead_ends


SCENARIO = LicenseRenewal()


TEAM = "procurement"


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
