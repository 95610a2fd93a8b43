"""The generator of offboardings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.blocks.approvers import struck_people
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    BuildContext,
    TicketScenario,
    buildable_kinds,
)
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS, TICKET_TOOLS
from companyos_gateway.scenarios.employee_offboarding.case import (
    NAME,
    Case,
    EscalatedRequest,
    HandedOverTicket,
    RefusalGround,
    Variant,
)
from companyos_gateway.scenarios.employee_offboarding.documents import (
    EACH,
    Leaver,
    OpenDuties,
    add_duties,
    add_leaver,
    amount_range,
    texts,
)
from companyos_gateway.scenarios.employee_offboarding.policy import (
    PolicyTerms,
    add_approvers,
    add_hold_and_exit_record,
    add_policy,
)
from companyos_gateway.scenarios.employee_offboarding.rubric import build_rubric
from companyos_gateway.world import WorldBuilder, finish_world
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

TEAM = "people"
ALWAYS = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
APPLICABLE = buildable_kinds(
    exclude=(
        Kind.STALE_METRIC,
        Kind.CONFLICTING_SOURCES,
        Kind.FAILED_PIPELINE,
        Kind.EXPIRED_CERTIFICATE,
        Kind.RANDOM_REJECTION,
        Kind.INFORMATION_REQUEST,
        Kind.SLOW_DECISION,
    )
)
FLOW_TOOLS = (
    "approvalflow_get_approval_type",
    "approvalflow_list_delegations",
    "approvalflow_get_approval",
    "approvalflow_list_approvals",
    "approvalflow_cancel_approval",
    "approvalflow_escalate_approval",
    "approvalflow_revoke_delegation",
)
DISTRACTORS = (
    "ticketdesk_create_ticket",
    "datahub_report_data_issue",
    "approvalflow_submit_approval",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class EmployeeOffboarding(TicketScenario[Case]):
    """Offboard a leaver by the policy: hand over tickets and decisions, take back requests, authority and access."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.EVERYTHING.value})
    max_steps = 160
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + FLOW_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one offboarding and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        own = stream.child("leaver")
        is_write_revoked = own.chance(0.5)
        leaver = add_leaver(world, own, kinds, must_refuse=context.must_refuse, is_write_revoked=is_write_revoked)
        policy_terms = add_policy(world, stream.child("rules"), leaver, kinds, is_write_revoked=is_write_revoked)
        role, amounts = _pending_requests(world, stream.child("lying"), leaver)
        chain = add_approvers(world, stream.child("chain"), leaver, role, amounts, kinds)
        deciders = set(chain.approver_ids)
        duties = add_duties(world, stream.child("duties"), leaver, role, amounts, deciders)
        keep_colleagues(world, leaver)
        ground_id = add_hold_and_exit_record(world, stream.child("papers"), leaver)
        plan = ticket_plan(world, leaver, kinds)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=_refusal(leaver, ground_id),
            variant=leaver.variant,
            ground=leaver.ground,
            person_id=leaver.person.id,
            last_day=leaver.person.employed_to,
            tickets=tuple(_handed_over(world, leaver, policy_terms, ticket) for ticket in duties.tickets),
            cancelled_ids=tuple(row.id for row in duties.own),
            escalated=_escalated(duties),
            role=role,
            delegation_ids=tuple(row.id for row in duties.delegations),
            revoked_ids=tuple(record.id for record in leaver.revoked),
            ended_ids=tuple(record.id for record in leaver.ended),
            policy_id=policy_terms.policy.policy_id,
            ground_id=ground_id,
            kinds=kinds,
        )
        others = {Kind.SIMILAR_NAMES: case.person_id, Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.role.value, case.role.value) | others

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an offboarding."""
        return build_rubric(case, company)


def keep_colleagues(world: WorldBuilder, leaver: Leaver) -> None:
    """Let the team's lead and one of the others be there whenever a ticket is handed over."""
    team_id = leaver.person.team_id
    usual = [one.id for one in world.staff.active(team_id) if not one.roles and one.id != leaver.person.id]
    for person_id in (world.staff.lead(team_id).id, usual[0]):
        world.remove_absences(person_id)


def _pending_requests(world: WorldBuilder, stream: Stream, leaver: Leaver) -> tuple[Role, list[int]]:
    """Draw who decides about what lies with the leaver, and the amounts of it."""
    role = Role.CFO if leaver.person.team_id == "procurement" else stream.choice((Role.PROCUREMENT_LEAD, Role.CFO))
    amounts = amount_range(world, role)
    return role, [rounded_amount(stream, *amounts) for _ in range(stream.integer(*EACH))]


def _handed_over(world: WorldBuilder, leaver: Leaver, policy_terms: PolicyTerms, ticket: TicketRow) -> HandedOverTicket:
    lead_id = world.staff.lead(ticket.team_id).id
    others = [one.id for one in world.staff.active(ticket.team_id) if one.id not in (leaver.person.id, lead_id)]
    takers = (lead_id,) if policy_terms.goes_to_lead(ticket.priority) else tuple(others)
    return HandedOverTicket(ticket.key, str(ticket.status), takers)


def _escalated(duties: OpenDuties) -> tuple[EscalatedRequest, ...]:
    return tuple(EscalatedRequest(row.id, int(row.fields["amount_cents"])) for row in duties.pending_requests)


def _refusal(leaver: Leaver, ground_id: str | None) -> Refusal | None:
    if leaver.ground is None:
        return None
    if leaver.ground is RefusalGround.STAYS:
        return Refusal(leaver.ground.value, (leaver.person.id,))
    assert ground_id is not None
    return Refusal(leaver.ground.value, (ground_id,))


SCENARIO = EmployeeOffboarding()


def ticket_plan(world: WorldBuilder, leaver: Leaver, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words, person = texts(), leaver.person
    team = next(one.name for one in world.staff.teams if one.id == person.team_id)

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            name=person.name,
            person_id=person.id,
            team=team,
            colleague=stream.choice([one for one in world.staff.active() if one.name != person.name]).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["number", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(name=person.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["offboarding"],
        duplicate_tags=["offboarding", "leaver"],
    )
