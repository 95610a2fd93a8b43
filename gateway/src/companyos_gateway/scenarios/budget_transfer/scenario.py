"""The generator of budget transfers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.budget_transfer.case import NAME, TYPE_KEY, Case, Ground, Shape
from companyos_gateway.scenarios.budget_transfer.lines import Transfer, add_lines, texts
from companyos_gateway.scenarios.budget_transfer.requests import add_requests
from companyos_gateway.scenarios.budget_transfer.rubric import build_rubric
from companyos_gateway.scenarios.budget_transfer.rules import add_approval_type, add_deciders, add_rules
from companyos_gateway.scenarios.budget_transfer.ticket import TEAM, entry_plan, order_by
from companyos_gateway.scenarios.parts.deciders import Chain, plan_reactions
from companyos_gateway.scenarios.parts.entry import add_entry
from companyos_gateway.scenarios.parts.numbers import late_slots
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
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
)
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
MEANINGLESS = (Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE)
"""Nothing is measured, and no vendor has a part in it."""

APPLICABLE = data_and_people(without=MEANINGLESS)
END_TOOLS = ("approvalflow_withdraw_approval", "approvalflow_cancel_approval")
DISTRACTORS = (
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_escalate_approval",
)


class BudgetTransfer(StagedScenario[Case]):
    """Move money between two budget lines in one piece: end its parts, have the whole approved, book both lines."""

    name = NAME
    max_steps = 150
    held_out = frozenset({Shape.BOTH.value})
    asked_for = ASKED_FOR
    tools = (
        *DESK_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *END_TOOLS,
        *DISTRACTORS,
    )
    distractors = DISTRACTORS

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one transfer with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a transfer."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one transfer with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    transfer = add_lines(world, stream.child("lines"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), transfer, kinds)
    add_approval_type(world, transfer, rules.policy)
    chain = add_deciders(world, stream.child("chain"), transfer, kinds)
    world.ticket_slots[TEAM] += late_slots(world, stream.child("slots"), TEAM, 2)
    plan = entry_plan(world, transfer, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=rules.priority, kinds=kinds)
    ordered_by = order_by(world, stream.child("order"), entry, transfer)
    ticket, words = entry.ticket, texts()["decisions"]
    parts = add_requests(
        world,
        stream.child("requests"),
        transfer,
        window_days=rules.window_days,
        ordered_on=ticket.created_at.date(),
    )
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=ticket.key, words=words, kinds=kinds)
    finish_world(world)
    policy = (rules.policy.policy_id, rules.policy.id)
    references = {
        Ground.TOO_LITTLE: (transfer.giver.id,),
        Ground.MIXED: policy,
        Ground.NOT_THE_OWNER: (ordered_by,),
    }
    amount, giver, taker = transfer.amount_cents, transfer.giver, transfer.taker
    case = Case(
        **entry.facts(world, kinds, rules.priority),
        approver_ids=chain.approver_ids,
        refusal=Refusal(transfer.ground.value, references[transfer.ground]) if transfer.ground else None,
        shape=transfer.shape,
        ground=transfer.ground,
        giver_id=giver.id,
        taker_id=taker.id,
        amount_cents=amount,
        giver_budget_cents=giver.fields["budget_cents"] - amount,
        taker_budget_cents=taker.fields["budget_cents"] + amount,
        role=transfer.role,
        own_parts=parts.own,
        others_parts=parts.others,
        parts_reason=Refusal(Ground.MIXED.value, policy),
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case, transfer, chain, kinds)))


def _entities(case: Case, transfer: Transfer, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    people = {kind: case.ticket_key for kind in kinds if kind.group is Group.PEOPLE}
    own = {Kind.SUPERSEDED_POLICY: case.policy_id, Kind.APPROVER_OUT_OF_OFFICE: case.role.value}
    if transfer.twin is not None:
        own[Kind.SIMILAR_NAMES] = transfer.twin.id
    return dict.fromkeys(kinds, case.ticket_key) | people | own | chain.dead_ends


SCENARIO = BudgetTransfer()
