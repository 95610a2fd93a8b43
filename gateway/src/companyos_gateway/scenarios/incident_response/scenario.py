"""Incidents: duplicate reports merged, the cause linked and rolled back with an emergency approval, someone on call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.incident_response.documents import (
    LOWEST_RATE,
    TAGS,
    TEAM,
    Incident,
    RefusalGround,
    Variant,
    add_incident,
    citations_of,
)

TECHNICAL_TEAMS = ("platform", "data", "security", "workplace")


class IncidentResponse(kit.DeclaredScenario[Incident]):
    """Resolve an incident: cancel duplicates, link the cause, assign on-call, get emergency approval, roll back."""

    name, team, topic, max_steps = "incident_response", TEAM, "incidents", 180
    tags, duplicate_tags = TAGS, ("question",)
    ticket_type, ticket_statuses, due_in = "incident", ("open",), (8, 11)
    held_out = frozenset({Variant.UPSTREAM.value})
    always = (kit.Kind.MISSING_ASSIGNEE, kit.Kind.STALE_METRIC)
    applicable = kit.buildable_kinds(exclude=(kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW))
    distractors = (*kit.USUAL_DISTRACTORS, "datahub_update_record")
    tools = (
        *kit.TICKET_TOOLS,
        "ticketdesk_link_tickets",
        *kit.METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        *kit.APPROVAL_TOOLS,
    )

    def begin_task(self, build: kit.BuildContext) -> kit.BegunTask:
        """Add the task; the ticket goes to the person on call."""
        begun = super().begin_task(build)

        def case() -> tuple[kit.ScenarioCase, Mapping[kit.Kind, str]]:
            case, affected = begun.case()
            ticket = next(one for one in build.world.ticketdesk.tickets if one.key == case.ticket_key)
            on_call_id = case.facts.on_call_id(build.world, ticket.created_at.date(), case.due_on)
            return replace(case, assignee_ids=(on_call_id,), needs_assignee=ticket.assignee_id != on_call_id), affected

        return replace(begun, case=case)

    def draw(self, build: kit.BuildContext) -> Incident:
        """Add the reports, the changes, the error rate and the documents of an incident."""
        return add_incident(build, self.texts())

    def slots(self, facts: Incident) -> Mapping[str, str]:
        """Return the service, the release, the change that is the cause, and another report."""
        outage = facts.outage
        return {
            "service": outage.service,
            "release": outage.release,
            "cause_key": facts.cause_key,
            "report": facts.report_keys[0],
        }

    def citations(self, facts: Incident) -> Mapping[str, list[str]]:
        """Return sentences that report the outage as the other reports do."""
        return {self.precise_citation: citations_of(self.texts(), facts.outage)}

    def figures(self, facts: Incident, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and the threshold; another version changes the decision or the priority."""
        name, threshold, rate = "incident_from_errors", facts.outage.threshold, facts.outage.rate
        return kit.rate_figures(stream, name, threshold, rate, priority, lowest=LOWEST_RATE, in_force=in_force)

    def policy_body(self, facts: Incident, figures: kit.Figures) -> str:
        """Return the policy with the paragraphs on the cause."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("CAUSE", words[facts.outage.variant.value])

    def deputies(self, build: kit.BuildContext, facts: Incident, request: kit.Request) -> set[str]:
        """Return the leads of technical teams and the members of two of them, who may stand in for the CTO."""
        leads = {build.world.staff.lead(team_id).id for team_id in TECHNICAL_TEAMS}
        return leads | kit.members_without_role(build.world, "data", "security")

    def solution(self, facts: Incident, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Merge the reports, link the cause, get the approval and have the change rolled back; or refuse."""
        outage, rate, threshold = facts.outage, facts.rate, policy.parameters["incident_from_errors"]
        fields = kit.request_fields(
            service=outage.service,
            cause_key=facts.cause_key,
            error_rate=kit.MetricValue(rate),
            measured_at=kit.MetricTime(rate),
        )
        request = kit.Request(type_key="emergency_change", subject=ticket_key, role=kit.Role.CTO, fields=fields)
        shown: dict[RefusalGround, kit.Fact] = {
            RefusalGround.BELOW: kit.MetricChecks(rate).below_fact(threshold),
            RefusalGround.KNOWN: kit.ticket_status_shown(facts.known_key),
            RefusalGround.MAINTENANCE: kit.record_shown(facts.notice_id),
        }
        against_ids: dict[RefusalGround | None, tuple[str, ...]] = {
            RefusalGround.KNOWN: (facts.known_key,),
            RefusalGround.MAINTENANCE: (facts.notice_id,),
        }
        refusal = kit.refusal_for(outage.ground, policy, *against_ids.get(outage.ground, ()))
        outcome = kit.Outcome(requests=(request,), metrics=(rate,))
        if outage.ground is None:
            outcome = _ended(outcome, facts, ticket_key)
        else:
            outcome = replace(outcome, facts=(shown[outage.ground],))
        affected = {kit.Kind.SIMILAR_NAMES: facts.lookalike_key}
        return kit.Solution(variant=outage.variant, outcome=outcome, refusal=refusal, affected=affected)


def _ended(outcome: kit.Outcome, facts: Incident, ticket_key: str) -> kit.Outcome:
    """Return an outcome with the goals of the reports and of the cause."""
    cause_key, by_owner = facts.cause_key, facts.outage.variant is Variant.HOTFIX
    reports = [kit.TicketGoal(key=key, original=ticket_key) for key in facts.report_keys]

    def closed_cause(evidence: kit.Evidence) -> Iterable[str]:
        cause = evidence.ticket(cause_key)
        if cause is not None and cause.status in kit.row_views.FINAL_TICKET_STATUSES:
            yield f"{kit.row_views.TICKETDESK}.tickets[{cause_key}]"

    return replace(
        outcome,
        prepared=(
            kit.EntityGoals("reports_merged", reports),
            kit.EntityGoals("cause_linked", [kit.TicketLinked("blocks", cause_key, ticket_key)]),
        ),
        goals=(kit.TicketResolved(key=cause_key, by_colleague=by_owner),),
        allowances=(kit.Allowance(kit.row_views.TICKETDESK, "comments", kit.added_where("ticket_key", [cause_key])),),
        forbidden=closed_cause,
    )


SCENARIO = IncidentResponse()
