"""Bug escalations: a production bug whose fresh error rate reaches the policy's limit, approved by the CTO."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.outcome import MetricTime, MetricValue, Outcome, Request
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.documents import file_record
from companyos_gateway.scenarios.blocks.metrics import (
    MetricPlan,
    MetricSources,
    add_task_metric,
    choose_sources,
    draw_other_value,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TYPE_KEY, METRIC_KEY, REASON_CODE = "bug_escalation", "error_rate", "requirement_not_met"
LIMITS = (5, 8)
"""Range of the error rate in percent from which on the policy escalates."""

LOWEST_ESCALATED, HIGHEST_RATE = 12, 40
"""Range of error rates in percent that are escalated; below them is room for three limits of the policy."""

SLA_MINUTES = (360, 480, 720)
"""How old the authority's values may be: hours, so that a person can decide meanwhile."""


class Variant(StrEnum):
    """One service, one with a runbook that the request names, or two dependent services."""

    PLAIN = "plain"
    RUNBOOK = "runbook"
    CHAIN = "chain"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failing service with its error rate once refreshed; in a chain, `other` fails less."""

    variant: Variant
    service: str
    other: str | None
    rate: int
    limit: int
    must_refuse: bool
    runbook_id: str | None
    metric: MetricSpec | None = None
    other_metric: MetricSpec | None = None


class BugEscalation(DeclaredScenario[Failure]):
    """Escalate a bug by the policy: clear its way, an engineer on it, a fresh error rate, the CTO's yes, into work."""

    name, team, topic, max_steps = "bug_escalation", "platform", "incidents", 130
    tags, duplicate_tags = ("bug", "production"), ("bug",)
    ticket_type, ticket_statuses, end_status, precise_citation = "bug", ("open",), "in_progress", "plain"
    held_out = frozenset({Variant.CHAIN.value})
    always = (Kind.BLOCKED_TICKET, Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
    opt_in_kinds = OPT_IN_KINDS - {Kind.PUT_ON_HOLD}
    applicable = buildable_kinds(
        exclude=(Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES, Kind.LIMIT_TOO_LOW), opt_in=OPT_IN_KINDS
    )
    distractors = (
        "datahub_update_record",
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Failure:
        """Draw what fails, among the services whose error rate nobody measures yet, and file the runbooks."""
        measured = {metric.subject for metric in world.datahub.metrics if metric.key == METRIC_KEY}
        services = pool("data")["slots"]["service"]
        service, other = stream.sample([name for name in services if name not in measured], 2)
        variant, limit = stream.choice(list(Variant)), stream.integer(*LIMITS)
        return Failure(
            variant=variant,
            service=service,
            other=other if variant is Variant.CHAIN else None,
            rate=stream.integer(1, limit - 1) if must_refuse else stream.integer(LOWEST_ESCALATED, HIGHEST_RATE),
            limit=limit,
            must_refuse=must_refuse,
            runbook_id=_file_runbooks(world, stream, service, services) if variant is Variant.RUNBOOK else None,
        )

    def slots(self, facts: Failure) -> Mapping[str, str]:
        """Name the service, or both of a chain, and a symptom."""
        named = sorted(one for one in (facts.service, facts.other) if one is not None)
        return {"service": facts.service, "services": " and ".join(f'"{name}"' for name in named)}

    def answers(self, world: WorldBuilder, facts: Failure) -> Mapping[str, AcceptedValue]:
        """Name the source of the error rate and the policy's limit."""
        assert facts.metric is not None
        source_id = facts.metric.source_id
        source_name = next(source.name for source in world.datahub.sources if source.id == source_id)
        return {"source_id": source_id, "source_name": source_name, "escalate_from_percent": facts.limit}

    def citations(self, facts: Failure) -> Mapping[str, list[str]]:
        """Return the ways of naming one service, or those of naming two."""
        name = "chain" if facts.other else "plain"
        return {"plain": self.texts()["citations"][name]}

    def titles(self, facts: Failure) -> list[str]:
        """Return every title with every symptom."""
        words = self.texts()
        symptoms = [symptom.format(service=facts.service) for symptom in words["symptoms"]]
        return [title.format(symptom=symptom) for title in words["titles"] for symptom in symptoms]

    def figures(self, facts: Failure, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities and of escalation; the rate is on the other side of another version's limit."""
        counted = max(facts.rate, LOWEST_ESCALATED)
        medium, high, critical = draw_priority_limits(stream, counted, priority, step=1)
        other_side = (1, facts.rate) if facts.must_refuse else (facts.rate + 1, HIGHEST_RATE + 9)
        return {
            "medium_from_percent": medium,
            "high_from_percent": high,
            "critical_from_percent": critical,
            "escalate_from_percent": facts.limit if in_force else stream.integer(*other_side),
        }

    def policy_body(self, facts: Failure, figures: PolicyParameters) -> str:
        """Return the policy, with its section on runbooks where there are some."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("RUNBOOK", words["runbook"] if facts.runbook_id else "")

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Failure,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Failure:
        """Add the error rates: that of the service, stale where that strikes, and a lower one of the other service."""
        sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score"))
        sources.authority.freshness_sla_minutes = stream.choice(SLA_MINUTES)
        metric = add_task_metric(world, stream.child("rate"), _rate_plan(facts, sources), kinds)
        if facts.other is None:
            return replace(facts, metric=metric)
        lower = replace(facts, service=facts.other, rate=stream.integer(0, facts.rate - 1))
        other_metric = add_task_metric(world, stream.child("other"), _rate_plan(lower, sources), ())
        return replace(facts, metric=metric, other_metric=other_metric)

    def solution(self, facts: Failure, policy: PolicyRow, ticket_key: str) -> Solution:
        """Escalate the service with the higher rate, or refuse below the limit."""
        metric, limit = facts.metric, facts.limit
        assert metric is not None
        fields = request_fields(
            service=facts.service, error_rate=MetricValue(metric), measured_at=MetricTime(metric)
        ) | (request_fields(runbook_id=facts.runbook_id) if facts.runbook_id else {})
        request = Request(type_key=TYPE_KEY, subject=ticket_key, role=Role.CTO, fields=fields)
        outcome = Outcome(
            requests=(request,),
            facts=(MetricChecks(metric).fact(lambda rate: rate < limit),),
            metrics=(metric,) if facts.other_metric is None else (metric, facts.other_metric),
        )
        refusal = Refusal(REASON_CODE, policy_refs(policy)) if facts.must_refuse else None
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


def _rate_plan(facts: Failure, sources: MetricSources) -> MetricPlan:
    """Return the plan of an error rate; other sources see it on the other side of the limit."""
    rate, limit = facts.rate, facts.limit
    other_side = (limit, HIGHEST_RATE) if facts.must_refuse else (0, limit - 1)
    stale = (limit, HIGHEST_RATE) if facts.must_refuse else (0, HIGHEST_RATE)
    return MetricPlan(
        key=METRIC_KEY,
        subject=facts.service,
        title=f"Error rate of {facts.service}",
        unit="percent",
        sources=sources,
        value=rate,
        draw_stale_value=lambda own: draw_other_value(own, rate, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
    )


def _file_runbooks(world: WorldBuilder, stream: Stream, service: str, services: Collection[str]) -> str:
    """File runbooks of three services; return the id of the given one's."""
    runbook_id = ""
    for name in [*stream.sample([one for one in services if one != service], 2), service]:
        day = working_days_from(world.today, -stream.integer(10, 55))
        fields = {"document_type": "runbook", "service": name, "revision": stream.integer(1, 9)}
        owner_id = stream.choice(world.staff.active("platform")).id
        runbook_id = file_record(
            world,
            stream,
            "document",
            title=f"Runbook: {name}",
            state="published",
            day=day,
            fields=fields,
            owner_id=owner_id,
        ).id
    return runbook_id


SCENARIO = BugEscalation()
