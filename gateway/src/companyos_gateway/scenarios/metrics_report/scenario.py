"""Metrics reports: values of the authoritative source, fresh, in the policy's unit, declared as answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from companyos_gateway.scenarios import kit

UNITS = {
    "amount_unit": {"cents": Fraction(100), "thousands of EUR": Fraction(1, 1000)},
    "share_unit": {
        "parts per thousand": Fraction(10),
        "basis points": Fraction(100),
        "fractions of one": Fraction(1, 100),
    },
}
"""Units of amounts and of percentages, with the factor for a value in EUR or in percent."""

SLA_MINUTES = (240, 360, 480)
"""Lower bounds of the authority's freshness SLA, so that all metrics of a report can be fresh at once."""

NAMED_BY = {True: "the name of the service", False: "the vendor ID"}
"""Wording of how an answer names a subject, by whether it is a service."""

FAILURE_LIMITS, FEWER_FAILURES, PLANNED_FAILURES = (3, 4), 2, 9
CITED_BY_ID, ALSO_STALE = 0.4, 0.6
SHORT_MAINTENANCE, SHORT_MINUTES, LONG_DAYS = 0.35, (60, 400), (8, 12)


class Variant(StrEnum):
    """Variant of the case: one value, a comparison, a sum, a count above a limit, or a change."""

    SINGLE = "single"
    COMPARISON = "comparison"
    TOTAL = "total"
    COUNT = "count"
    MOVEMENT = "movement"


CONTENTS = {
    Variant.SINGLE: (1, ("first",)),
    Variant.COMPARISON: (2, ("first", "second", "leader")),
    Variant.TOTAL: (3, ("total", "highest")),
    Variant.COUNT: (3, ("above", "highest")),
    Variant.MOVEMENT: (1, ("first", "before", "change")),
}
"""The number of metrics in a report, and its questions by their keys in `asked` of texts.toml."""


class RefusalGround(StrEnum):
    """Ground for refusing a report."""

    MAINTENANCE = "maintenance"
    FAILING = "failing"
    NO_AUTHORITY = "no_authority"


SPEND = kit.MetricTopic(
    "spend_to_date", "Spend with {} this year", "EUR", ("delivery_score", "risk_index"), 2_000, 400_000
)
DELIVERY = kit.MetricTopic("delivery_score", "Delivery score of {}", "percent", ("risk_index", "spend_to_date"), 30, 95)
UPTIME = kit.MetricTopic("uptime", "Uptime of {} this month", "percent", ("risk_index", "delivery_score"), 88, 97)
"""The topic about services; the others are about vendors."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A request for values of metrics."""

    variant: Variant
    ground: RefusalGround | None
    metrics: tuple[kit.MetricSpec, ...]
    source_ids: tuple[str, ...]
    """The sources that measure the first metric."""
    limit: int
    before: float
    """The value of the first metric on an earlier day; 0 if no question is about it."""
    questions: Mapping[str, str]
    """The keys of the questions by the names of their answers."""
    slots: Mapping[str, str]
    figures: kit.Figures
    """The figures of the policy in force: the units, and the number of failed refreshes."""


class MetricsReport(kit.DeclaredScenario[Report]):
    """Report metrics as typed answers: current values of the authoritative source, in the policy's unit."""

    name, team, topic, max_steps = "metrics_report", "data", "reporting", 100
    ticket_type, tags, duplicate_tags, due_in = "request", ("figures", "report"), (), (3, 6)
    held_out = frozenset({Variant.COUNT.value})
    opt_in_kinds = frozenset[kit.Kind]()
    always_renamed = MappingProxyType({"datahub": "as_of"})
    fits_shifts = False
    always = (kit.Kind.STALE_METRIC,)
    applicable = (
        *kit.METRIC_KINDS,
        *(kit.Kind.UNIT_MISMATCH, kit.Kind.SUPERSEDED_POLICY, kit.Kind.ANNOUNCED_POLICY, kit.Kind.SIMILAR_NAMES),
    )
    distractors = (
        *("datahub_update_record", "datahub_search_people", "ticketdesk_search_tickets", "ticketdesk_list_comments"),
        *("ticketdesk_add_comment", "ticketdesk_update_ticket", "ticketdesk_transition_ticket"),
    )
    tools = (
        *kit.METRIC_TOOLS,
        *kit.POLICY_TOOLS,
        *("datahub_list_metrics", "datahub_get_metric_history", "datahub_list_sources"),
        *("datahub_search_records", "datahub_get_record", "datahub_get_vendor"),
        *("ticketdesk_get_ticket", "datahub_report_data_issue"),
    )

    def draw(self, build: kit.BuildContext) -> Report:
        """Add the metrics, and draw the questions about them."""
        stream, words, has_lookalike = build.stream, self.texts(), kit.Kind.SIMILAR_NAMES in build.kinds
        ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
        topics = [SPEND] if variant is Variant.TOTAL else [SPEND, DELIVERY, *([] if has_lookalike else [UPTIME])]
        topic, (count, keys) = stream.choice(topics), CONTENTS[variant]
        subjects, lookalike = _draw_subjects(build, topic, count)
        metrics = _add_metrics(build.child("metrics"), topic, subjects, lookalike, ground)
        first, first_ids = metrics[0], (metrics[0].metric_id, *metrics[0].other_metric_ids)
        limit = int(stream.choice(sorted(one.value for one in metrics)[:-1] or [0])) + stream.integer(0, 1)
        before, day = _add_past(build.child("past"), first, topic) if "before" in keys else (0.0, "")
        named, shown = NAMED_BY[topic is UPTIME], f"EUR {limit:,}" if topic is SPEND else f"{limit} percent"
        texts = [stream.choice(words["asked"][key]).format(limit=shown, day=day, named=named) for key in keys]
        names = stream.choice(words["answers"])[: len(keys)]
        about = stream.choice(words["topic"][topic.key])
        cited = [one if stream.chance(CITED_BY_ID) and not has_lookalike else name for one, name in subjects.items()]
        units = {name: stream.choice(list(units)) for name, units in UNITS.items()}
        return Report(
            variant=variant,
            ground=ground,
            metrics=metrics,
            source_ids=tuple(row.source_id for row in build.world.datahub.metrics if row.id in first_ids),
            limit=limit,
            before=before,
            questions=dict(zip(names, keys, strict=True)),
            slots={
                "topic": about,
                "subjects": "\n".join(f"({place}) {subject}" for place, subject in enumerate(cited, start=1)),
                "questions": "\n".join(f"- `{name}`: {text}" for name, text in zip(names, texts, strict=True)),
                "metric": first.metric_id,
                "source": first.source_id,
            },
            figures={**units, "most_failures": stream.integer(*FAILURE_LIMITS)},
        )

    def slots(self, facts: Report) -> Mapping[str, str]:
        """Return the topic, the subjects, the questions, and the first metric with its source."""
        return facts.slots

    def figures(self, facts: Report, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Return the units and the number of failures; another version requires other units and fewer failures."""
        if in_force:
            return facts.figures
        units = {name: stream.choice([one for one in UNITS[name] if one != facts.figures[name]]) for name in UNITS}
        return {**units, "most_failures": FEWER_FAILURES}

    def solution(self, facts: Report, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Declare the answers, or report a metric that is not available."""
        first, act = kit.MetricChecks(facts.metrics[0]), None
        known = [first.earlier_value_fact(facts.before)] if facts.before else []
        refusal = kit.Refusal("data_unavailable", (first.spec.source_id,)) if facts.ground else None
        subjects = [one.metric_id for one in facts.metrics if one.is_stale]
        match facts.ground:
            case RefusalGround.MAINTENANCE:
                known = [first.maintenance_fact()]
            case RefusalGround.FAILING:
                subjects = [first.spec.metric_id]
                known = [first.failures_fact(policy.parameters["most_failures"])]
            case RefusalGround.NO_AUTHORITY:
                refusal = kit.Refusal("requirement_not_met", kit.policy_refs(policy))
                subjects = [name for one in facts.metrics for name in (one.metric_id, *one.other_metric_ids)]
                known = [kit.authority_shown(one) for one in facts.source_ids]
        if refusal:
            issue = kit.IssueReportGoal(kind="missing", subjects=frozenset(subjects), refusal=refusal)
            act = kit.IssueReported(issue, milestone="reason_recorded")
        outcome = kit.Outcome(metrics=facts.metrics, answers=_answers(facts, policy), act=act, facts=tuple(known))
        affected = {kit.Kind.SIMILAR_NAMES: first.spec.subject}
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal, affected=affected)


def _answers(facts: Report, policy: kit.PolicyRow) -> dict[str, kit.AnswerRule]:
    """Return the answers by name, in the unit of the policy."""
    unit_key = "amount_unit" if facts.metrics[0].key == SPEND.key else "share_unit"
    factor = UNITS[unit_key][policy.parameters[unit_key]]

    def converted(value: float) -> float:
        return value * factor.numerator / factor.denominator

    rules: dict[str, kit.AnswerRule] = {
        "first": lambda values: converted(values[0]),
        "second": lambda values: converted(values[1]),
        "leader": lambda values: facts.metrics[values.index(max(values))].subject,
        "total": lambda values: converted(sum(values)),
        "above": lambda values: sum(value > facts.limit for value in values),
        "highest": lambda values: converted(max(values)),
        "before": lambda _values: converted(facts.before),
        "change": lambda values: converted(values[0] - facts.before),
    }
    return {name: rules[key] for name, key in facts.questions.items()}


def _draw_subjects(
    build: kit.BuildContext, topic: kit.MetricTopic, count: int
) -> tuple[dict[str, str], kit.VendorRow | None]:
    """Draw the subjects, names by ID, and a vendor with a name similar to the first one's if that kind applies."""
    world, stream = build.world, build.stream
    if topic is UPTIME:
        measured = {metric.subject for metric in world.datahub.metrics if metric.key == topic.key}
        free = [name for name in kit.pool("data")["slots"]["service"] if name not in measured]
        return {name: name for name in stream.sample(free, count)}, None
    vendors = [kit.draw_vendor(world, stream, status="active") for _ in range(count)]
    lookalike = kit.draw_namesake(world, stream, vendors[0]) if kit.Kind.SIMILAR_NAMES in build.kinds else None
    return {vendor.id: vendor.legal_name for vendor in vendors}, lookalike


def _add_metrics(
    build: kit.BuildContext,
    topic: kit.MetricTopic,
    subjects: Mapping[str, str],
    lookalike: kit.VendorRow | None,
    ground: RefusalGround | None,
) -> tuple[kit.MetricSpec, ...]:
    """Add a metric of each subject with the kinds that apply; the first one is unavailable if there is a ground."""
    world, stream = build.world, build.stream
    sources = kit.choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    authority = sources.authority
    authority.freshness_sla_minutes = max(authority.freshness_sla_minutes, stream.choice(SLA_MINUTES))
    values = stream.distinct(topic.low, topic.high - 1, len(subjects))

    def draw_higher(own: kit.Stream) -> int:
        """Draw a value of another source or of the lookalike: higher than any of the topic."""
        return topic.high + own.integer(1, topic.low if topic is SPEND else min(topic.low, 100 - topic.high))

    metrics = list[kit.MetricSpec]()
    for place, ((subject, name), value) in enumerate(zip(subjects.items(), values, strict=True)):
        own, kinds = stream.child("metric", place), build.kinds
        is_also_stale = own.chance(ALSO_STALE)
        if place > 0:
            kinds -= {kit.Kind.FAILED_PIPELINE} if is_also_stale else {kit.Kind.FAILED_PIPELINE, kit.Kind.STALE_METRIC}
        elif ground is not None:
            is_unknown = ground is RefusalGround.NO_AUTHORITY
            kinds |= {kit.Kind.CONFLICTING_SOURCES if is_unknown else kit.Kind.STALE_METRIC}
        similar = None if metrics else lookalike
        plan = topic.plan(sources, subject, name, value, draw_other_value=draw_higher, lookalike=similar)
        metrics.append(kit.add_task_metric(world, own, plan, kinds))
    _strike_source(build.child("source"), authority, metrics[0], ground)
    return tuple(metrics)


def _strike_source(
    build: kit.BuildContext, authority: kit.SourceRow, metric: kit.MetricSpec, ground: RefusalGround | None
) -> None:
    """Make the metric unavailable; without a ground, its source may be in maintenance for some hours."""
    world, stream = build.world, build.stream
    is_short = ground is None and metric.is_stale and stream.chance(SHORT_MAINTENANCE)
    if is_short or ground is RefusalGround.MAINTENANCE:
        authority.maintenance_from = world.started_at - timedelta(minutes=stream.integer(30, 300))
        ends_at = world.started_at + timedelta(minutes=stream.integer(*SHORT_MINUTES))
        authority.maintenance_to = ends_at if is_short else kit.closing_time(build.working_day(*LONG_DAYS))
    elif ground is RefusalGround.NO_AUTHORITY:
        authority.authoritative_for.remove(metric.key)
    elif ground is RefusalGround.FAILING:
        kit.fail_refreshes(world, stream, authority, metric.metric_id, PLANNED_FAILURES)


def _add_past(build: kit.BuildContext, metric: kit.MetricSpec, topic: kit.MetricTopic) -> tuple[float, str]:
    """Add a value of a metric from a day before all known values; return it in the topic's unit, and the day."""
    datahub, stream = build.world.datahub, build.stream
    now = next(row.value for row in datahub.metrics if row.id == metric.metric_id)
    known = [row for row in datahub.metric_values if row.metric_id == metric.metric_id]
    if topic is SPEND:  # it never falls
        lowest = int(min(now, *(row.value for row in known)) / metric.per_unit)
        value = stream.integer(lowest // 2, lowest - 1)
    else:
        value = kit.draw_other_value(stream, int(metric.value), topic.low, topic.high)
    day = min(row.as_of for row in known).date() - timedelta(days=stream.integer(3, 9))
    at = kit.draw_office_time(stream, day)
    earlier = at - timedelta(days=stream.integer(4, 20)), value - stream.integer(1, 9)
    for as_of, one in ((at, value), earlier):
        row = kit.MetricValueRow(id="", metric_id=metric.metric_id, value=float(one * metric.per_unit), as_of=as_of)
        datahub.metric_values.append(row)
    return float(value), day.isoformat()


SCENARIO = MetricsReport()
