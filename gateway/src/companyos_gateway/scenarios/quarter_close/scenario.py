"""The generator of quarter closes."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import plan_reactions, struck_people
from companyos_gateway.scenarios.blocks.metrics import struck_metric
from companyos_gateway.scenarios.blocks.ticket import TaskTicket, TicketPlan, add_task_ticket
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
from companyos_gateway.scenarios.quarter_close.case import NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.quarter_close.documents import ClosingDocuments, add_closing_documents, texts
from companyos_gateway.scenarios.quarter_close.policy import add_approval_type, add_approvers, add_policy
from companyos_gateway.scenarios.quarter_close.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.backlog import add_comment, add_history
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import LinkRow, TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

NOT_APPLICABLE = (Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES)
"""No vendor is looked at, and a cost center has a number instead of a name."""

TEAM = "finance"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
DISTRACTORS = (
    "datahub_report_data_issue",
    "datahub_update_vendor",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class QuarterClose(TicketScenario[Case]):
    """Close a cost center's quarter: settle papers, resolve the parts, have true totals approved, close the line."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = buildable_kinds(exclude=NOT_APPLICABLE)
    max_steps = 240
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )
    distractors = DISTRACTORS
    held_out = frozenset({Variant.ORDERS.value})

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one quarter close and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        documents = add_closing_documents(world, stream.child("papers"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), documents, kinds)
        add_approval_type(world, stream.child("type"), policy_terms.policy)
        chain = add_approvers(world, stream.child("chain"), documents, kinds)
        subject, words = documents.line.id, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=subject, words=words, kinds=kinds)
        plan = ticket_plan(world, documents)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        links = add_parts(world, stream.child("parts"), task_ticket, documents)
        other = add_other_close(world, stream.child("other"), documents)
        finish_world(world)
        assert documents.figure is not None
        assert documents.line.amount_cents is not None
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(documents, other.key if other else None),
            variant=documents.variant,
            ground=documents.ground,
            cost_center=documents.cost_center,
            line_id=documents.line.id,
            budget_cents=documents.line.amount_cents,
            figure=documents.figure,
            settled=tuple(documents.settled),
            step_keys=tuple(link.from_key for link in links),
            invoice_ids=documents.invoice_ids,
            void_id=documents.void.id if documents.void else None,
            void_order_id=documents.void.fields["purchase_order_id"] if documents.void else None,
            approved_cents=documents.approved_cents,
            held=documents.held,
            other_key=other.key if other else None,
            role=documents.role,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        own = {Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.line_id, case.role.value) | struck_metric(
            case.figure.spec, case.figure.key
        ) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a quarter close."""
        return build_rubric(case, company)


def _refusal(documents: ClosingDocuments, other_key: str | None) -> Refusal | None:
    if documents.ground is None:
        return None
    found = {
        RefusalGround.OVERSPENT: documents.line.id,
        RefusalGround.CANCELLED_ORDER: documents.void.id if documents.void else "",
        RefusalGround.CLOSED_BEFORE: other_key or "",
    }
    return Refusal(documents.ground.value, (found[documents.ground],))


SCENARIO = QuarterClose()


def ticket_plan(world: WorldBuilder, documents: ClosingDocuments) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        person = stream.choice(world.staff.active()).name
        return text.format(cc=documents.cost_center, quarter=documents.quarter, person=person)

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(cc=documents.cost_center, quarter=documents.quarter) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["descriptions"])),
        fill=fill,
        words=words,
        duplicate_texts=words["doubles"],
        tags=["close"],
        duplicate_tags=["close"],
    )


def add_parts(
    world: WorldBuilder, stream: Stream, task_ticket: TaskTicket, documents: ClosingDocuments
) -> list[LinkRow]:
    """Add the tickets that hold up the close until their part of it is done; the links name them."""
    parts = texts()["part"]
    names = ["invoices", documents.variant.value][: 1 if documents.ground is RefusalGround.CLOSED_BEFORE else 2]
    return [_add_part(world, stream.child(name), task_ticket, documents, parts[name]) for name in names]


def add_other_close(world: WorldBuilder, stream: Stream, documents: ClosingDocuments) -> TicketRow | None:
    """Add the ticket under which the quarter is being closed already, where that is so."""
    if documents.ground is not RefusalGround.CLOSED_BEFORE:
        return None
    words = texts()
    title = stream.choice(words["titles"])
    ticket = _ticket(world, stream, documents, title, stream.choice(words["others"]))
    add_comment(world, ticket, author_id=ticket.assignee_id or "", at=ticket.updated_at, body=words["other_comment"])
    return ticket


def _add_part(
    world: WorldBuilder, stream: Stream, task_ticket: TaskTicket, documents: ClosingDocuments, words: dict[str, str]
) -> LinkRow:
    ticket = _ticket(
        world, stream, documents, words["title"], words["description"].replace("KEY", task_ticket.ticket.key)
    )
    link = LinkRow(
        id="",
        kind="blocks",
        from_key=ticket.key,
        to_key=task_ticket.ticket.key,
        created_at=max(ticket.created_at, task_ticket.ticket.created_at),
        created_by=task_ticket.ticket.reporter_id,
    )
    world.ticketdesk.links.append(link)
    return link


def _ticket(
    world: WorldBuilder, stream: Stream, documents: ClosingDocuments, title: str, description: str
) -> TicketRow:
    slot = world.ticket_slots[TEAM].pop()
    people = [one.id for one in world.staff.active(TEAM) if one.id != world.agent_id]
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=title.format(cc=documents.cost_center, quarter=documents.quarter),
        description=description.format(cc=documents.cost_center, quarter=documents.quarter),
        status="in_progress",
        priority="medium",
        assignee_id=stream.choice(people),
        reporter_id=stream.choice(people),
        team_id=TEAM,
        tags=["close"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.reporter_id)
    return ticket
