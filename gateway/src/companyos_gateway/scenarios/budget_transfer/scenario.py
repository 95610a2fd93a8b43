"""The generator of budget transfers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.budget_transfer.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.budget_transfer.documents import Transfer, add_lines, add_partial_requests, texts
from companyos_gateway.scenarios.budget_transfer.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.budget_transfer.rubric import build_rubric
from companyos_gateway.scenarios.parts.deciders import Chain, plan_reactions
from companyos_gateway.scenarios.parts.entry import Entry, EntryPlan, add_entry
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
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
INAPPLICABLE = (Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE)
"""Nothing is measured, and no vendor has a part in it."""

APPLICABLE = data_and_people(without=INAPPLICABLE)
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
    held_out = frozenset({Variant.BOTH.value})
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

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one transfer with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a transfer."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one transfer with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    transfer = add_lines(world, stream.child("lines"), kinds, must_refuse=chances.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), transfer, kinds)
    add_approval_type(world, transfer, policy_terms.policy)
    chain = add_approvers(world, stream.child("chain"), transfer, kinds)
    world.ticket_slots[TEAM] += late_slots(world, stream.child("slots"), TEAM, 2)
    plan = ticket_plan(world, transfer, kinds)
    entry = add_entry(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    ordered_by = add_order(world, stream.child("order"), entry, transfer)
    ticket, words = entry.ticket, texts()["decisions"]
    parts = add_partial_requests(
        world,
        stream.child("requests"),
        transfer,
        window_days=policy_terms.window_days,
        ordered_on=ticket.created_at.date(),
    )
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=ticket.key, words=words, kinds=kinds)
    finish_world(world)
    policy = (policy_terms.policy.policy_id, policy_terms.policy.id)
    references = {
        RefusalGround.TOO_LITTLE: (transfer.giver.id,),
        RefusalGround.MIXED: policy,
        RefusalGround.NOT_THE_OWNER: (ordered_by,),
    }
    amount, giver, taker = transfer.amount_cents, transfer.giver, transfer.taker
    case = Case(
        **entry.facts(world, kinds, policy_terms.priority),
        approver_ids=chain.approver_ids,
        refusal=Refusal(transfer.ground.value, references[transfer.ground]) if transfer.ground else None,
        variant=transfer.variant,
        ground=transfer.ground,
        giver_id=giver.id,
        taker_id=taker.id,
        amount_cents=amount,
        giver_budget_cents=giver.fields["budget_cents"] - amount,
        taker_budget_cents=taker.fields["budget_cents"] + amount,
        role=transfer.role,
        own_parts=parts.own,
        others_parts=parts.others,
        parts_reason=Refusal(RefusalGround.MIXED.value, policy),
        policy_id=policy_terms.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _struck_entities(case, transfer, chain, kinds)))


def _struck_entities(case: Case, transfer: Transfer, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    people = {kind: case.ticket_key for kind in kinds if kind.group is Group.PEOPLE}
    own = {Kind.SUPERSEDED_POLICY: case.policy_id, Kind.APPROVER_OUT_OF_OFFICE: case.role.value}
    if transfer.twin is not None:
        own[Kind.SIMILAR_NAMES] = transfer.twin.id
    return dict.fromkeys(kinds, case.ticket_key) | people | own | chain.dead_ends


SCENARIO = BudgetTransfer()


TEAM = FINANCE


def ticket_plan(world: World, transfer: Transfer, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, giver, taker = texts(), transfer.giver, transfer.taker

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            giver=giver.id,
            taker=taker.id,
            giver_title=giver.title,
            taker_title=taker.title,
            giver_center=giver.fields["cost_center"],
            taker_center=taker.fields["cost_center"],
            amount=f"{transfer.amount_cents // 100:,}",
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "title" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "title"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(title=taker.title) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["asks"],
        tags=["budget", "transfer"],
        double_tags=["budget"],
    )


def add_order(world: World, stream: Stream, entry: Entry, transfer: Transfer) -> str:
    """Let the owner of the line that gives have ordered the transfer, or somebody else; return who did."""
    owner_id = transfer.giver.owner_id
    assert owner_id is not None
    others = [one.id for one in world.staff.active() if one.id not in (owner_id, world.agent_id)]
    is_owner = transfer.ground is not RefusalGround.NOT_THE_OWNER
    entry.ticket.reporter_id = owner_id if is_owner else stream.choice(others)
    return entry.ticket.reporter_id
