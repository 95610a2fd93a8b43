"""Incidents: duplicate reports merged, the cause linked and rolled back with an emergency approval, someone on call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import Evidence, row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import Allowance, added_where
from companyos_gateway.evaluation.entity_goals import EntityGoals, TicketInState
from companyos_gateway.evaluation.facts import Fact, record_shown, ticket_status_shown
from companyos_gateway.evaluation.goals import TicketResolved
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.outcome import MetricTime, MetricValue, Outcome, Request
from companyos_gateway.evaluation.ticket_goals import TicketGoal, TicketLinked
from companyos_gateway.scenarios.blocks.approvers import members_without_role
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    ScenarioCase,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import BuildContext, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.incident_response.documents import (
    HIGHEST_RATE,
    LOWEST_RATE,
    TAGS,
    TEAM,
    Incident,
    RefusalGround,
    Variant,
    add_incident,
    citations_of,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TECHNICAL_TEAMS = ("platform", "data", "security", "workplace")


class IncidentResponse(DeclaredScenario[Incident]):
    """End an incident: merge its reports, link the cause, on call, fresh error rate, emergency approval, in time."""

    name, team, topic, max_steps = "incident_response", TEAM, "incidents", 180
    tags, duplicate_tags = TAGS, ("question",)
    ticket_type, ticket_statuses, due_in = "incident", ("open",), (8, 11)
    held_out = frozenset({Variant.UPSTREAM.value})
    always = (Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
    applicable = buildable_kinds(exclude=(Kind.EXPIRED_CERTIFICATE, Kind.LIMIT_TOO_LOW))
    distractors = (
        "datahub_update_record",
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        "ticketdesk_link_tickets",
        *METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def add_task(self, context: BuildContext) -> tuple[ScenarioCase, Mapping[Kind, str]]:
        """Build the task; the ticket goes to whoever is on call."""
        case, struck = super().add_task(context)
        ticket = next(one for one in context.world.ticketdesk.tickets if one.key == case.ticket_key)
        on_call_id = case.facts.on_call_id(context.world, ticket.created_at.date(), case.due_on)
        return replace(case, assignee_ids=(on_call_id,), needs_assignee=ticket.assignee_id != on_call_id), struck

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Incident:
        """Add the reports, the changes, the error rate and the documents of an incident."""
        return add_incident(world, stream, self.texts(), kinds, must_refuse=must_refuse)

    def slots(self, facts: Incident) -> Mapping[str, str]:
        """Name the service, the release and the change that is the cause."""
        outage = facts.outage
        return {"service": outage.service, "release": outage.release, "cause_key": facts.cause_key}

    def citations(self, facts: Incident) -> Mapping[str, list[str]]:
        """Report the outage as the other reports do."""
        return {self.precise_citation: citations_of(self.texts(), facts.outage)}

    def duplicate_texts(self, facts: Incident) -> list[str]:
        """Ask about the service, without a report of its own."""
        questions: list[str] = self.texts()["asks"]
        return questions

    def figures(self, facts: Incident, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities; another version has its threshold on the other side of the error rate."""
        outage, threshold = facts.outage, facts.outage.threshold
        medium, high, critical = draw_priority_limits(stream, max(outage.rate, LOWEST_RATE), priority, step=1)
        if not in_force:
            is_below = outage.rate < threshold
            threshold = stream.integer(*((1, outage.rate) if is_below else (outage.rate + 1, HIGHEST_RATE + 9)))
        return {
            "medium_from_percent": medium,
            "high_from_percent": high,
            "critical_from_percent": critical,
            "incident_from_percent": threshold,
        }

    def policy_body(self, facts: Incident, figures: PolicyParameters) -> str:
        """Return the policy with the paragraphs on the cause."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("CAUSE", words[facts.outage.variant.value])

    def deputies(self, world: WorldBuilder, facts: Incident, request: Request, kinds: Collection[Kind]) -> set[str]:
        """Let leads of technical teams stand in for the CTO, and members of two of them."""
        leads = {world.staff.lead(team_id).id for team_id in TECHNICAL_TEAMS}
        return leads | members_without_role(world, "data", "security")

    def solution(self, facts: Incident, policy: PolicyRow, ticket_key: str) -> Solution:
        """Merge the reports, link the cause, get the approval and have the change rolled back; or refuse."""
        outage, rate = facts.outage, facts.rate
        fields = request_fields(
            service=outage.service,
            cause_key=facts.cause_key,
            error_rate=MetricValue(rate),
            measured_at=MetricTime(rate),
        )
        request = Request(type_key="emergency_change", subject=ticket_key, role=Role.CTO, fields=fields)
        refused = Outcome(requests=(request,), metrics=(rate,))
        grounds: dict[RefusalGround, tuple[Fact, tuple[str, ...]]] = {
            RefusalGround.BELOW: (
                MetricChecks(rate).fact(lambda value: value < policy.parameters["incident_from_percent"]),
                policy_refs(policy),
            ),
            RefusalGround.KNOWN: (ticket_status_shown(facts.known_key), (facts.known_key,)),
            RefusalGround.MAINTENANCE: (record_shown(facts.notice_id), (facts.notice_id,)),
        }
        refusal = None
        if outage.ground is None:
            outcome = _ended(refused, facts, ticket_key)
        else:
            fact, references = grounds[outage.ground]
            outcome, refusal = replace(refused, facts=(fact,)), Refusal(outage.ground.value, references)
        struck = {Kind.SIMILAR_NAMES: facts.lookalike_key} if facts.lookalike_key else None
        return Solution(variant=outage.variant, outcome=outcome, refusal=refusal, struck=struck)


def _ended(outcome: Outcome, facts: Incident, ticket_key: str) -> Outcome:
    """Return an outcome with the ends of the reports and of the cause."""
    cause_key, by_owner = facts.cause_key, facts.outage.variant is Variant.HOTFIX
    reports = [TicketInState(TicketGoal(key=key, original=ticket_key)) for key in facts.report_keys]

    def closed_cause(evidence: Evidence) -> Iterable[str]:
        cause = evidence.ticket(cause_key)
        if cause is not None and cause.status in row_views.FINAL_TICKET_STATUSES:
            yield f"{row_views.TICKETDESK}.tickets[{cause_key}]"

    allowed_tables = ("comments",) if by_owner else ("comments", "transitions")
    return replace(
        outcome,
        prepared=(
            EntityGoals("reports_merged", reports),
            EntityGoals("cause_linked", [TicketLinked("blocks", cause_key, ticket_key)]),
        ),
        goals=(TicketResolved(key=cause_key, by_colleague=by_owner),),
        allowances=tuple(
            Allowance(row_views.TICKETDESK, table, added_where("ticket_key", [cause_key])) for table in allowed_tables
        ),
        forbidden=closed_cause,
    )


SCENARIO = IncidentResponse()
