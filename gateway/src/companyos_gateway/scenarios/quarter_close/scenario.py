"""The generator of quarter closes."""

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
from companyos_gateway.scenarios.parts.tools import (
    APPROVAL_TOOLS,
    DESK_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
)
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.scenarios.quarter_close.case import NAME, TYPE_KEY, Case, Ground, Shape
from companyos_gateway.scenarios.quarter_close.papers import Papers, add_papers, texts
from companyos_gateway.scenarios.quarter_close.rubric import build_rubric
from companyos_gateway.scenarios.quarter_close.rules import add_approval_type, add_deciders, add_rules
from companyos_gateway.scenarios.quarter_close.ticket import TEAM, add_other_close, add_parts, entry_plan
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

NOT_APPLICABLE = (Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES)
"""No vendor is looked at, and a cost centre has a number instead of a name."""

ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
DISTRACTORS = (
    "datahub_report_data_issue",
    "datahub_update_vendor",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class QuarterClose(StagedScenario[Case]):
    """Close a cost centre's quarter: settle papers, resolve the parts, have true totals approved, close the line."""

    name = NAME
    max_steps = 240
    tools = (
        *DESK_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )
    distractors = DISTRACTORS
    held_out = frozenset({Shape.ORDERS.value})

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one quarter close with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a quarter close."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one quarter close with all that is in its way into it."""
    stream = Stream(NAME, seed)
    applicable = data_and_people(without=NOT_APPLICABLE)
    chances = draw_chances(stream, profile, overrides, applicable=applicable, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    papers = add_papers(world, stream.child("papers"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), papers, kinds)
    add_approval_type(world, stream.child("type"), rules.policy)
    chain = add_deciders(world, stream.child("chain"), papers, kinds)
    subject, words = papers.line.id, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
    plan = entry_plan(world, papers)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    links = add_parts(world, stream.child("parts"), entry, papers)
    other = add_other_close(world, stream.child("other"), papers)
    finish_world(world)
    assert papers.figure is not None
    assert papers.line.amount_cents is not None
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=_refusal(papers, other.key if other else None),
        shape=papers.shape,
        ground=papers.ground,
        cost_center=papers.cost_center,
        line_id=papers.line.id,
        budget_cents=papers.line.amount_cents,
        figure=papers.figure,
        settled=tuple(papers.settled),
        step_keys=tuple(link.from_key for link in links),
        invoice_ids=papers.invoice_ids,
        void_id=papers.void.id if papers.void else None,
        void_order_id=papers.void.fields["purchase_order_id"] if papers.void else None,
        approved_cents=papers.approved_cents,
        held=papers.held,
        other_key=other.key if other else None,
        role=papers.role,
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, chain, kinds)))


def _refusal(papers: Papers, other_key: str | None) -> Refusal | None:
    if papers.ground is None:
        return None
    found = {
        Ground.OVERSPENT: papers.line.id,
        Ground.CANCELLED_ORDER: papers.void.id if papers.void else "",
        Ground.CLOSED_BEFORE: other_key or "",
    }
    return Refusal(papers.ground.value, (found[papers.ground],))


def _entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    on_line = {kind: case.line_id for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.STALE_METRIC: case.figure.reading.metric_id,
        Kind.FAILED_PIPELINE: case.figure.reading.source_id,
        Kind.CONFLICTING_SOURCES: case.figure.key,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: case.role.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | on_line | own | chain.dead_ends


SCENARIO = QuarterClose()
