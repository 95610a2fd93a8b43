"""The generator of budget transfers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import plan_reactions, struck_people
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.ticket import TaskTicket, TicketPlan, add_task_ticket
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
from companyos_gateway.scenarios.budget_transfer.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.budget_transfer.documents import Transfer, add_lines, add_partial_requests, texts
from companyos_gateway.scenarios.budget_transfer.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.budget_transfer.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

TEAM = FINANCE
ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
INAPPLICABLE = (Kind.STALE_METRIC, Kind.CONFLICTING_SOURCES, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE)
"""Nothing is measured, and no vendor has a part in it."""

APPLICABLE = buildable_kinds(exclude=INAPPLICABLE)
END_TOOLS = ("approvalflow_withdraw_approval", "approvalflow_cancel_approval")
DISTRACTORS = (
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_escalate_approval",
)


class BudgetTransfer(TicketScenario[Case]):
    """Move money between two budget lines in one piece: end its parts, have the whole approved, book both lines."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    max_steps = 150
    held_out = frozenset({Variant.BOTH.value})
    opt_in_kinds = OPT_IN_KINDS
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *END_TOOLS,
        *DISTRACTORS,
    )
    distractors = DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one transfer and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        transfer = add_lines(world, stream.child("lines"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), transfer, kinds)
        add_approval_type(world, transfer, policy_terms.policy)
        chain = add_approvers(world, stream.child("chain"), transfer, kinds)
        world.ticket_slots[TEAM] += recent_key_slots(world, stream.child("slots"), TEAM, 2)
        plan = ticket_plan(world, transfer, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        ordered_by = add_order(world, stream.child("order"), task_ticket, transfer)
        ticket, words = task_ticket.ticket, texts()["decisions"]
        parts = add_partial_requests(
            world,
            stream.child("requests"),
            transfer,
            window_days=policy_terms.window_days,
            ordered_on=ticket.created_at.date(),
        )
        plan_reactions(
            world, stream.child("reactions"), type_key=TYPE_KEY, subject=ticket.key, words=words, kinds=kinds
        )
        finish_world(world)
        policy = (policy_terms.policy.policy_id, policy_terms.policy.id)
        references = {
            RefusalGround.TOO_LITTLE: (transfer.giver.id,),
            RefusalGround.MIXED: policy,
            RefusalGround.NOT_THE_OWNER: (ordered_by,),
        }
        amount, giver, taker = transfer.amount_cents, transfer.giver, transfer.taker
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
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
        own = {Kind.SUPERSEDED_POLICY: case.policy_id}
        if transfer.lookalike is not None:
            own[Kind.SIMILAR_NAMES] = transfer.lookalike.id
        return case, struck_people(chain, case.ticket_key, case.role.value) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a transfer."""
        return build_rubric(case, company)


SCENARIO = BudgetTransfer()


def ticket_plan(world: WorldBuilder, transfer: Transfer, kinds: Collection[Kind]) -> TicketPlan:
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

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(title=taker.title) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["asks"],
        tags=["budget", "transfer"],
        duplicate_tags=["budget"],
    )


def add_order(world: WorldBuilder, stream: Stream, task_ticket: TaskTicket, transfer: Transfer) -> str:
    """Let the owner of the line that gives have ordered the transfer, or somebody else; return who did."""
    owner_id = transfer.giver.owner_id
    assert owner_id is not None
    others = [one.id for one in world.staff.active() if one.id not in (owner_id, world.agent_id)]
    is_owner = transfer.ground is not RefusalGround.NOT_THE_OWNER
    task_ticket.ticket.reporter_id = owner_id if is_owner else stream.choice(others)
    return task_ticket.ticket.reporter_id
