"""The generator of bug escalations."""

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
    leads_and_finance,
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
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, NAME, REASON_CODE, TYPE_KEY, Case, Variant
from companyos_gateway.scenarios.bug_escalation.documents import (
    Failure,
    add_other_rate,
    add_policy,
    add_rate,
    add_runbook,
    choose_authority,
    draw_failure,
    texts,
)
from companyos_gateway.scenarios.bug_escalation.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

TEAM = "platform"
ALWAYS = (Kind.BLOCKED_TICKET, Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
APPLICABLE = buildable_kinds(
    exclude=(Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES, Kind.LIMIT_TOO_LOW), opt_in=OPT_IN_KINDS
)
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "datahub_update_record",
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class BugEscalation(TicketScenario[Case]):
    """Escalate a bug by the policy: clear its way, an engineer on it, a fresh error rate, the CTO's yes, into work."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
    held_out = frozenset({Variant.CHAIN.value})
    opt_in_kinds = OPT_IN_KINDS - {Kind.PUT_ON_HOLD}
    max_steps = 130
    distractors = DISTRACTORS
    tools = TICKET_TOOLS + METRIC_TOOLS + FILE_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one bug escalation and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        failure = draw_failure(world, stream.child("fault"), must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), failure, kinds)
        sources = choose_authority(world, stream.child("sources"))
        rate = add_rate(world, stream.child("rate"), failure, sources, kinds)
        other_rate = add_other_rate(world, stream.child("other"), failure, sources)
        runbook_id = add_runbook(world, stream.child("runbook"), failure)
        add_approval_type(world, failure, policy_terms.policy, rate)
        chain = add_cto(world, stream.child("chain"), kinds)
        plan = ticket_plan(world, failure)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
        key, words = task_ticket.ticket.key, texts()["decisions"]
        plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=key, words=words, kinds=kinds)
        finish_world(world)
        policy = policy_terms.policy
        case = Case(
            **task_ticket.case_fields(world, kinds, policy_terms.priority),
            approver_ids=chain.approver_ids,
            refusal=Refusal(REASON_CODE, (policy.policy_id, policy.id)) if failure.must_refuse else None,
            end_status="in_progress",
            variant=failure.variant,
            service=failure.service,
            rate=rate,
            other_rate=other_rate,
            runbook_id=runbook_id,
            lowest_rate=failure.bar,
            policy_id=policy.policy_id,
            kinds=kinds,
        )
        own = {Kind.SUPERSEDED_POLICY: case.policy_id}
        return case, struck_people(chain, case.ticket_key, Role.CTO.value) | struck_metric(case.rate, METRIC_KEY) | own

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a bug escalation."""
        return build_rubric(case, company)


SCENARIO = BugEscalation()


def ticket_plan(world: WorldBuilder, failure: Failure) -> TicketPlan:
    """Return how the ticket looks; it is open as long as nobody has decided."""
    words = texts()
    named = [failure.service, *([failure.other] if failure.other else [])]

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            service=failure.service,
            services=" and ".join(f'"{name}"' for name in stream.shuffled(named)),
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        return fill(stream, stream.choice(words["citations"]["chain" if failure.other else "plain"]))

    symptoms = [symptom.format(service=failure.service) for symptom in words["symptoms"]]
    return TicketPlan(
        team_id=TEAM,
        titles=[title.format(symptom=symptom) for title in words["titles"] for symptom in symptoms],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["plain"],
        tags=["bug", "production"],
        duplicate_tags=["bug"],
        type="bug",
        statuses=("open",),
    )


def add_approval_type(world: WorldBuilder, failure: Failure, policy: PolicyRow, rate: MetricSpec) -> None:
    """Add the approval type."""
    specs = [
        field_spec("service", "text", "Name of the service that is escalated."),
        field_spec(METRIC_KEY, "number", "Error rate of the service in percent, from the authoritative source."),
        FieldSpecRow(
            name="measured_at",
            type="datetime",
            required=True,
            description="Timestamp (`as_of`) of the error rate.",
            max_age_minutes=int(rate.max_age.total_seconds()) // 60,
        ),
    ]
    if failure.variant is Variant.RUNBOOK:
        specs.append(field_spec("runbook_id", "text", "ID of the document with the runbook of the service."))
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Bug escalation",
            description="Engineers give a production bug priority over other work. The subject is the ticket key.",
            policy_ref=policy.policy_id,
            fields=specs,
            amount_field=None,
            thresholds=[ThresholdRow(up_to_cents=None, role=Role.CTO.value)],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_cto(world: WorldBuilder, stream: Stream, kinds: Collection[Kind]) -> ApproverChain:
    """Add who stands in for the CTO."""
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=Role.CTO,
        holder_ids=[world.staff.holders(Role.CTO)[0].id],
        amount_cents=0,
        deputy_candidates=leads_and_finance(world),
        other_types=["access_grant", "purchase_order"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)
