"""Bug escalations: a production bug whose fresh error rate reaches the policy's limit, approved by the CTO."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from companyos_gateway.scenarios import kit

TYPE_KEY, REASON_CODE = "bug_escalation", "requirement_not_met"
LIMITS = (5, 8)
"""Range of the limit from which on the policy escalates, in errors per 1,000 requests."""

LOWEST_ESCALATED, HIGHEST_RATE = 22, 32
"""Range of error rates that are escalated; the limits of priorities lie above the policy's."""


class Variant(StrEnum):
    """Variant of the case: one service, one with a runbook that the request names, or two dependent services."""

    PLAIN = "plain"
    RUNBOOK = "runbook"
    CHAIN = "chain"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failing service with its error rate once refreshed; in a chain, `other` fails less."""

    variant: Variant
    service: str
    symptom: str
    other: str | None
    rate: int
    limit: int
    must_refuse: bool
    runbook_id: str | None
    metric: kit.MetricSpec | None = None
    other_metric: kit.MetricSpec | None = None


class BugEscalation(kit.DeclaredScenario[Failure]):
    """Escalate a bug: resolve blockers, assign an engineer, refresh the rate, get the CTO's approval, start work."""

    name, team, topic, max_steps = "bug_escalation", "platform", "incidents", 130
    tags, duplicate_tags = ("bug", "production"), ("bug",)
    ticket_type, ticket_statuses, end_status, precise_citation = "bug", ("open",), "in_progress", "plain"
    held_out = frozenset({Variant.CHAIN.value})
    always = (kit.Kind.BLOCKED_TICKET, kit.Kind.MISSING_ASSIGNEE, kit.Kind.STALE_METRIC)
    opt_in_kinds = kit.OPT_IN_KINDS - {kit.Kind.PUT_ON_HOLD}
    applicable = kit.buildable_kinds(
        exclude=(kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.SIMILAR_NAMES, kit.Kind.LIMIT_TOO_LOW), opt_in=kit.OPT_IN_KINDS
    )
    distractors = (*kit.USUAL_DISTRACTORS, "datahub_update_record", "ticketdesk_link_tickets")
    tools = (
        *kit.TICKET_TOOLS,
        *kit.METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        *kit.APPROVAL_TOOLS,
    )

    def draw(self, build: kit.BuildContext) -> Failure:
        """Draw the failing services among those without an error rate, and file the runbooks."""
        world, stream = build.world, build.stream
        measured = {metric.subject for metric in world.datahub.metrics if metric.key == kit.ERROR_RATE}
        services = kit.pool("data")["slots"]["service"]
        service, other = stream.sample([name for name in services if name not in measured], 2)
        variant, limit = stream.choice(list(Variant)), stream.integer(*LIMITS)
        return Failure(
            variant=variant,
            service=service,
            symptom=stream.choice(self.texts()["symptoms"]).format(service=service),
            other=other if variant is Variant.CHAIN else None,
            rate=stream.integer(1, limit - 1) if build.must_refuse else stream.integer(LOWEST_ESCALATED, HIGHEST_RATE),
            limit=limit,
            must_refuse=build.must_refuse,
            runbook_id=_file_runbooks(build, service, services) if variant is Variant.RUNBOOK else None,
        )

    def slots(self, facts: Failure) -> Mapping[str, str]:
        """Return the service, or both of a chain, and the source of the error rate."""
        named = sorted(one for one in (facts.service, facts.other) if one is not None)
        services = " and ".join(f'"{name}"' for name in named)
        assert facts.metric is not None
        return {"service": facts.service, "services": services, "source": facts.metric.source_id}

    def answers(self, build: kit.BuildContext, facts: Failure) -> Mapping[str, kit.AcceptedValue]:
        """Return the source of the error rate and the policy's limit."""
        assert facts.metric is not None
        source_id = facts.metric.source_id
        source_name = next(source.name for source in build.world.datahub.sources if source.id == source_id)
        return {"source_id": source_id, "source_name": source_name, "escalate_from_errors": facts.limit}

    def citations(self, facts: Failure) -> Mapping[str, list[str]]:
        """Return the sentences that name one service, or those that name two."""
        name = "chain" if facts.other else "plain"
        return {"plain": self.texts()["citations"][name]}

    def titles(self, facts: Failure) -> list[str]:
        """Return the titles with the symptom."""
        return [title.format(symptom=facts.symptom) for title in self.texts()["titles"]]

    def figures(self, facts: Failure, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and of escalation; another version changes the decision or the priority."""
        name, limit, rate = "escalate_from_errors", facts.limit, facts.rate
        return kit.rate_figures(stream, name, limit, rate, priority, lowest=LOWEST_ESCALATED, in_force=in_force)

    def policy_body(self, facts: Failure, figures: kit.Figures) -> str:
        """Return the policy, with its section on runbooks if there are any."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("RUNBOOK", words["runbook"] if facts.runbook_id else "")

    def complete(self, build: kit.BuildContext, facts: Failure, policy: kit.PolicyRow, slot: kit.KeySlot) -> Failure:
        """Add the error rate of the service, stale if that kind applies, and a lower one of the other service."""
        world, stream = build.world, build.stream
        sources = kit.error_rate_sources(build)
        metric = kit.add_task_metric(world, stream.child("rate"), _rate_plan(facts, sources), build.kinds)
        if facts.other is None:
            return replace(facts, metric=metric)
        lower = replace(facts, service=facts.other, rate=stream.integer(0, facts.rate - 1))
        other_metric = kit.add_task_metric(world, stream.child("other"), _rate_plan(lower, sources), ())
        return replace(facts, metric=metric, other_metric=other_metric)

    def solution(self, facts: Failure, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Escalate the service with the higher rate, or refuse below the limit."""
        metric, limit = facts.metric, facts.limit
        assert metric is not None
        fields = kit.request_fields(
            service=facts.service, error_rate=kit.MetricValue(metric), measured_at=kit.MetricTime(metric)
        ) | (kit.request_fields(runbook_id=facts.runbook_id) if facts.runbook_id else {})
        request = kit.Request(type_key=TYPE_KEY, subject=ticket_key, role=kit.Role.CTO, fields=fields)
        metrics = (metric,) if facts.other_metric is None else (metric, facts.other_metric)
        below = tuple(kit.MetricChecks(one).below_fact(limit) for one in metrics)
        outcome = kit.Outcome(requests=(request,), facts=below, metrics=metrics)
        refusal = kit.Refusal(REASON_CODE, kit.policy_refs(policy)) if facts.must_refuse else None
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


def _rate_plan(facts: Failure, sources: kit.MetricSources) -> kit.MetricPlan:
    return kit.error_rate_plan(sources, facts.service, facts.rate, threshold=facts.limit, highest=HIGHEST_RATE)


def _file_runbooks(build: kit.BuildContext, service: str, services: Collection[str]) -> str:
    """File runbooks of three services; return the ID of the given service's."""
    world, stream = build.world, build.stream
    runbook_id = ""
    for name in [*stream.sample([one for one in services if one != service], 2), service]:
        day = build.working_day_ago(10, 55)
        fields = {"service": name, "revision": stream.integer(1, 9)}
        owner_id = stream.choice(world.staff.active("platform")).id
        runbook_id = build.file_document("runbook", f"Runbook: {name}", day=day, fields=fields, owner_id=owner_id).id
    return runbook_id


SCENARIO = BugEscalation()
