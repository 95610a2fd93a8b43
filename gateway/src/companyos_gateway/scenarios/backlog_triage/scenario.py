"""The generator of sweeps of a backlog."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, Group
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.backlog_triage.case import NAME, TAG, Case, RefusalGround, Variant
from companyos_gateway.scenarios.backlog_triage.documents import TicketQueue, add_tagged_tickets, draw_scale, texts
from companyos_gateway.scenarios.backlog_triage.policy import (
    add_asset_cards,
    add_policy,
    goals_of,
    keep_some_in_office,
    most_urgent,
)
from companyos_gateway.scenarios.backlog_triage.rubric import build_rubric
from companyos_gateway.scenarios.blocks.ticket import TaskTicket, TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
    set_agent,
)
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, TICKET_TOOLS
from companyos_gateway.world import finish_world
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

ALWAYS = (Kind.MISSING_PRIORITY, Kind.DUPLICATE_TICKET)
INAPPLICABLE = (
    Kind.STALE_METRIC,
    Kind.CONFLICTING_SOURCES,
    Kind.FAILED_PIPELINE,
    Kind.EXPIRED_CERTIFICATE,
    *(kind for kind in Kind if kind.group is Group.PEOPLE),
)
"""Nothing is measured and nobody is asked for an approval."""

APPLICABLE = buildable_kinds(exclude=INAPPLICABLE)
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "datahub_update_record",
    "datahub_report_data_issue",
    "approvalflow_list_approval_types",
    "approvalflow_submit_approval",
)


class BacklogTriage(TicketScenario[Case]):
    """Sweep a backlog by the policy: triage, priorities, assignees and duplicates of all tickets under a tag."""

    name = NAME
    texts = staticmethod(texts)
    always = ALWAYS
    applicable = APPLICABLE
    max_steps = 200
    held_out = frozenset({Variant.LEAD.value})
    opt_in_kinds = OPT_IN_KINDS
    tools = (*TICKET_TOOLS, "ticketdesk_link_tickets", *FILE_TOOLS, *PEOPLE_TOOLS, *POLICY_TOOLS, *DISTRACTORS)
    distractors = DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one sweep and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        own = stream.child("sweep")
        team_id, variant, ground = own.choice(TEAMS), own.choice(list(Variant)), own.choice(list(RefusalGround))
        refused = ground if context.must_refuse else None
        set_agent(world, stream.child("agent"), team_id)
        keep_some_in_office(world, stream.child("office"), team_id)
        scale = draw_scale(stream.child("scale"))
        queue = add_tagged_tickets(world, stream.child("queue"), team_id, scale, kinds=kinds, ground=refused)
        owners = add_asset_cards(world, stream.child("owners"), queue) if variant is Variant.OWNERS else {}
        policy_terms = add_policy(
            world, stream.child("rules"), queue, scale, variant=variant, ground=refused, kinds=kinds
        )
        other_key = add_parallel_triage(world, stream.child("other"), queue, is_same=refused is RefusalGround.TWICE)
        priority, plan = most_urgent(queue, policy_terms), ticket_plan(world, queue)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=priority, kinds=kinds)
        ordered_by = add_order(world, stream.child("order"), task_ticket, ground=refused)
        goals = () if refused else goals_of(world, queue, policy_terms, variant=variant, owners=owners)
        finish_world(world)
        policy = policy_terms.policy
        references = {
            RefusalGround.TOO_FEW: (policy.policy_id, policy.id),
            RefusalGround.NOT_ORDERED: (ordered_by,),
            RefusalGround.TWICE: (other_key,),
        }
        case = Case(
            **task_ticket.case_fields(world, kinds, priority),
            approver_ids=(),
            refusal=Refusal(refused.value, references[refused]) if refused else None,
            variant=variant,
            ground=refused,
            tag=queue.tag,
            goals=goals,
            max_per_person=policy_terms.max_per_person,
            ordered_by=ordered_by,
            sweep_key=other_key,
            policy_id=policy.policy_id,
            kinds=kinds,
        )
        return case, _struck_entities(case, queue)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a sweep."""
        return build_rubric(case, company)


def _struck_entities(case: Case, queue: TicketQueue) -> dict[Kind, str]:
    own = {Kind.SUPERSEDED_POLICY: case.policy_id}
    if queue.look_alike is not None:
        own[Kind.SIMILAR_NAMES] = queue.look_alike.ticket.key
    return own


SCENARIO = BacklogTriage()


TEAMS = ("workplace", "platform", "data", "vendor-operations")


def ticket_plan(world: WorldBuilder, queue: TicketQueue) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(tag=queue.tag, person=stream.choice(world.staff.active()).name)

    return TicketPlan(
        team_id=queue.team_id,
        titles=[title.format(tag=queue.tag) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["orders"])),
        fill=fill,
        words=words,
        duplicate_texts=words["asks"],
        tags=[TAG, "sweep"],
        duplicate_tags=[TAG],
    )


def add_order(world: WorldBuilder, stream: Stream, task_ticket: TaskTicket, *, ground: RefusalGround | None) -> str:
    """Let the lead of the team have ordered the sweep, or somebody who may not; return who did."""
    ticket = task_ticket.ticket
    lead_id = world.staff.lead(ticket.team_id).id
    others = [one.id for one in world.staff.active() if one.id not in (lead_id, world.agent_id)]
    ticket.reporter_id = stream.choice(others) if ground is RefusalGround.NOT_ORDERED else lead_id
    return ticket.reporter_id


def add_parallel_triage(world: WorldBuilder, stream: Stream, queue: TicketQueue, *, is_same: bool) -> str:
    """Add a sweep that a colleague has begun, of the same tickets or of others; return its key."""
    words = texts()
    tag = queue.tag if is_same else stream.choice([tag for tag in words["tags"] if tag != queue.tag])
    slot = world.ticket_slots[queue.team_id].pop(0)
    person = world.staff.lead(queue.team_id)
    worker = stream.choice([one for one in world.staff.active(queue.team_id) if one.id != world.agent_id])
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=stream.choice(words["titles"]).format(tag=tag),
        description=stream.choice(words["orders"]).format(tag=tag, person=person.name),
        status="in_progress",
        priority="medium",
        assignee_id=worker.id,
        reporter_id=person.id,
        team_id=queue.team_id,
        tags=[TAG, "sweep"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, worker.id)
    return ticket.key
