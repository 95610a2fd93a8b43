"""The generator of incidents."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    members_without_role,
    plan_reactions,
    replace_approval_type,
    struck_people,
)
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
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, NAME, TYPE_KEY, Case, RefusalGround, Variant
from companyos_gateway.scenarios.incident_response.documents import (
    TAGS,
    TEAM,
    Outage,
    add_notice,
    add_policy,
    add_rate,
    add_reports,
    add_rota,
    add_runbooks,
    draw_outage,
    keep_on_call,
    on_call,
    report_text,
    texts,
)
from companyos_gateway.scenarios.incident_response.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
APPLICABLE = buildable_kinds(exclude=(Kind.EXPIRED_CERTIFICATE, Kind.LIMIT_TOO_LOW))
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "datahub_update_record",
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class IncidentResponse(TicketScenario[Case]):
    """End an incident: merge its reports, link the cause, on call, fresh error rate, emergency approval, in time."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    max_steps = 180
    held_out = frozenset({Variant.UPSTREAM.value})
    opt_in_kinds = OPT_IN_KINDS
    tools = (
        *TICKET_TOOLS,
        "ticketdesk_link_tickets",
        *METRIC_TOOLS,
        *FILE_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *DISTRACTORS,
    )
    distractors = DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one incident and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        outage = draw_outage(world, stream.child("outage"), must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), outage, kinds)
        rate = add_rate(world, stream.child("rate"), outage, kinds)
        add_approval_type(world, policy_terms.policy, rate)
        chain = add_cto(world, stream.child("chain"), kinds)
        add_runbooks(world, stream.child("runbooks"), outage)
        rota = add_rota(world, stream.child("rota"))
        keep_on_call(world, rota)
        notice_id = add_notice(world, stream.child("notice"), outage)
        reports = add_reports(world, stream.child("reports"), outage, kinds)
        task_ticket = add_task_ticket(
            world, stream.child("desk"), ticket_plan(world, outage), priority=policy_terms.priority, kinds=kinds
        )
        ticket, words = task_ticket.ticket, texts()["decisions"]
        on_call_id = on_call(world, rota, ticket.created_at.date(), task_ticket.due_on)
        plan_reactions(
            world, stream.child("reactions"), type_key=TYPE_KEY, subject=ticket.key, words=words, kinds=kinds
        )
        finish_world(world)
        references = {
            RefusalGround.BELOW: (policy_terms.policy.policy_id, policy_terms.policy.id),
            RefusalGround.KNOWN: (reports.known.key,),
            RefusalGround.MAINTENANCE: (notice_id,),
        }
        who = {"assignee_ids": (on_call_id,), "needs_assignee": ticket.assignee_id != on_call_id}
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority) | who,
            approver_ids=chain.approver_ids,
            refusal=Refusal(outage.ground.value, references[outage.ground]) if outage.ground else None,
            variant=outage.variant,
            ground=outage.ground,
            service=outage.service,
            rate=rate,
            lowest_rate=outage.bar,
            duplicates=reports.goals(outage, ticket.key),
            cause_key=reports.cause.key,
            cause_free_at=reports.cause_free_at,
            known_key=reports.known.key,
            notice_id=notice_id,
            on_call_id=on_call_id,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        own = {Kind.SUPERSEDED_POLICY: case.policy_id}
        if reports.look_alike is not None:
            own[Kind.SIMILAR_NAMES] = reports.look_alike.key
        return case, struck_people(chain, case.ticket_key, Role.CTO.value) | struck_metric(case.rate, METRIC_KEY) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of an incident."""
        return build_rubric(case, company)


SCENARIO = IncidentResponse()


DUE_IN_WORKING_DAYS = (8, 11)


def ticket_plan(world: WorldBuilder, outage: Outage) -> TicketPlan:
    """Return how the ticket looks; its due day is what was promised for incidents."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(service=outage.service, person=stream.choice(world.staff.active()).name)

    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(service=outage.service) for title in words["titles"]],
        describe=lambda stream: report_text(world, stream, outage),
        fill=fill,
        words=words,
        duplicate_texts=words["asks"],
        tags=list(TAGS),
        duplicate_tags=["question"],
        type="incident",
        due_in=DUE_IN_WORKING_DAYS,
        statuses=("open",),
    )


def add_approval_type(world: WorldBuilder, policy: PolicyRow, rate: MetricSpec) -> None:
    """Add the approval type."""
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Emergency change",
            description="Rollback of the change that caused an incident. The subject is the incident ticket key.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("service", "text", "Name of the failing service."),
                field_spec("cause_key", "text", "Ticket key of the change that caused the incident."),
                field_spec(METRIC_KEY, "number", "Error rate of the service in percent from the authoritative source."),
                FieldSpecRow(
                    name="measured_at",
                    type="datetime",
                    required=True,
                    description="Timestamp (`as_of`) of the error rate.",
                    max_age_minutes=int(rate.max_age.total_seconds()) // 60,
                ),
            ],
            amount_field=None,
            thresholds=[ThresholdRow(up_to_cents=None, role=Role.CTO.value)],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_cto(world: WorldBuilder, stream: Stream, kinds: Collection[Kind]) -> ApproverChain:
    """Add who stands in for the CTO: leads of technical teams, and members of two of them."""
    leads = {world.staff.lead(team_id).id for team_id in ("platform", "data", "security", "workplace")}
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=Role.CTO,
        holder_ids=[world.staff.holders(Role.CTO)[0].id],
        amount_cents=0,
        deputy_candidates=leads | members_without_role(world, "data", "security"),
        other_types=["access_grant", "purchase_order"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)
