"""Metrics reports: values of the authoritative source, fresh, in the policy's unit, declared as answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.metrics_report.documents import (
    DELIVERY,
    ERRORS,
    SPEND,
    RefusalGround,
    Subject,
    add_metrics,
    add_past,
    draw_subjects,
)

UNITS = {
    "amount_unit": {"cents": Fraction(100), "thousands of EUR": Fraction(1, 1000)},
    "share_unit": {
        "parts per thousand": Fraction(10),
        "basis points": Fraction(100),
        "fractions of one": Fraction(1, 100),
    },
}
"""The units of amounts and of percentages, with the factor of a value in EUR or in percent."""

NAMED_BY = {True: "the name of the service", False: "the vendor ID"}
"""How an answer names a subject, by whether it is a service."""

MOST_FAILURES, FEWER_FAILURES = (3, 4), 2
CITED_BY_ID = 0.4


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


@dataclass(frozen=True, kw_only=True)
class Report:
    """A request for values of metrics."""

    variant: Variant
    ground: RefusalGround | None
    subjects: Sequence[Subject]
    metrics: tuple[kit.MetricSpec, ...]
    source_ids: tuple[str, ...]
    """The sources that measure the first metric."""
    limit: int
    before: float
    """The value of the first metric on an earlier day; 0 if no question is about it."""
    questions: Mapping[str, str]
    """The questions by the names of their answers."""
    slots: Mapping[str, str]
    units: Mapping[str, str]
    """The units that the policy in force requires, by its figures."""
    most_failures: int


class MetricsReport(kit.DeclaredScenario[Report]):
    """Report figures as typed answers: by the authority, fresh, in the policy's unit, and change nothing."""

    name, team, topic, max_steps = "metrics_report", "data", "reporting", 100
    ticket_type, tags, duplicate_tags, due_in = "request", ("figures", "report"), (), (3, 6)
    held_out = frozenset({Variant.COUNT.value})
    opt_in_kinds = frozenset[kit.Kind]()
    always_renamed = MappingProxyType({"datahub": "as_of"})
    always = (kit.Kind.STALE_METRIC,)
    applicable = (
        *kit.METRIC_KINDS,
        kit.Kind.UNIT_MISMATCH,
        kit.Kind.SUPERSEDED_POLICY,
        kit.Kind.ANNOUNCED_POLICY,
        kit.Kind.SIMILAR_NAMES,
    )
    distractors = (
        "datahub_update_record",
        "datahub_search_people",
        "ticketdesk_search_tickets",
        "ticketdesk_list_comments",
        "ticketdesk_add_comment",
        "ticketdesk_update_ticket",
        "ticketdesk_transition_ticket",
    )
    tools = (
        "ticketdesk_get_ticket",
        *kit.METRIC_TOOLS,
        "datahub_list_metrics",
        "datahub_get_metric_history",
        "datahub_list_sources",
        "datahub_search_records",
        "datahub_get_record",
        "datahub_get_vendor",
        *kit.POLICY_TOOLS,
        "datahub_report_data_issue",
    )

    def draw(self, build: kit.BuildContext) -> Report:
        """Add the metrics, and draw the questions about them."""
        stream, words = build.stream, self.texts()
        ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
        topics = [SPEND] if variant is Variant.TOTAL else [SPEND, DELIVERY, ERRORS]
        topic = stream.choice([one for one in topics if one is not ERRORS or kit.Kind.SIMILAR_NAMES not in build.kinds])
        count, keys = CONTENTS[variant]
        subjects, lookalike = draw_subjects(build, topic, count)
        metrics = add_metrics(build.child("metrics"), topic, subjects, lookalike, ground)
        limit = int(stream.choice(sorted(one.value for one in metrics)[:-1] or [0])) + stream.integer(0, 1)
        before, day = add_past(build.child("past"), metrics[0], topic) if "before" in keys else (0.0, "")
        slots = {"limit": limit, "unit": topic.unit, "day": day, "named": NAMED_BY[topic is ERRORS]}
        texts = [stream.choice(words["asked"][key]).format(**slots) for key in keys]
        questions = dict(zip(stream.choice(words["answers"]), texts, strict=False))
        about = topic.key, subjects[0].id
        return Report(
            variant=variant,
            ground=ground,
            subjects=subjects,
            metrics=metrics,
            source_ids=tuple(row.source_id for row in build.world.datahub.metrics if (row.key, row.subject) == about),
            limit=limit,
            before=before,
            questions=questions,
            slots={
                "topic": stream.choice(words["topic"][topic.key]),
                "subjects": "\n".join(_cited(build, subjects)),
                "questions": "\n".join(f"- `{name}`: {text}" for name, text in questions.items()),
                "metric": metrics[0].metric_id,
                "source": metrics[0].source_id,
            },
            units={name: stream.choice(list(units)) for name, units in UNITS.items()},
            most_failures=stream.integer(*MOST_FAILURES),
        )

    def slots(self, facts: Report) -> Mapping[str, str]:
        """Name the topic, the subjects, the questions, and the first metric with its source."""
        return facts.slots

    def figures(self, facts: Report, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Return the units and the failures; another version requires other units and gives up sooner."""
        if in_force:
            return {**facts.units, "most_failures": facts.most_failures}
        units = {name: stream.choice([one for one in UNITS[name] if one != unit]) for name, unit in facts.units.items()}
        return {**units, "most_failures": FEWER_FAILURES}

    def solution(self, facts: Report, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Declare the answers, or report a metric that is not available."""
        first, refusal, subjects = kit.MetricChecks(facts.metrics[0]), None, list[str]()
        known = [first.earlier_value_fact(facts.before)] if facts.before else []
        if facts.ground is RefusalGround.NO_AUTHORITY:
            refusal = kit.Refusal("requirement_not_met", kit.policy_refs(policy))
            subjects = [name for one in facts.metrics for name in (one.metric_id, *one.other_metric_ids)]
            known = list(map(kit.authority_shown, facts.source_ids))
        elif facts.ground is not None:
            refusal = kit.Refusal("data_unavailable", (first.spec.source_id,))
            is_failing = facts.ground is RefusalGround.FAILING
            subjects = [
                one.metric_id for one in facts.metrics if one == first.spec or (one.is_stale and not is_failing)
            ]
            failures = policy.parameters["most_failures"]
            known = [first.failures_fact(failures) if is_failing else first.maintenance_fact()]
        outcome = kit.Outcome(
            metrics=facts.metrics,
            answers=_answers(facts, policy),
            act=_report_missing(subjects, refusal) if refusal else None,
            facts=tuple(known),
        )
        struck = {kit.Kind.SIMILAR_NAMES: first.spec.subject}
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal, struck=struck)


def _report_missing(subjects: Sequence[str], refusal: kit.Refusal) -> kit.IssueReported:
    issue = kit.IssueReportGoal(kind="missing", subjects=frozenset(subjects), refusal=refusal)
    return kit.IssueReported(issue, milestone="reason_recorded")


def _cited(build: kit.BuildContext, subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the lines that name the subjects: by their names where something has a similar name."""
    for place, subject in enumerate(subjects, start=1):
        is_by_id = build.stream.chance(CITED_BY_ID) and kit.Kind.SIMILAR_NAMES not in build.kinds
        yield f"({place}) {subject.id if is_by_id else subject.name}"


def _answers(facts: Report, policy: kit.PolicyRow) -> dict[str, kit.AnswerRule]:
    """Return the answers by name, in the unit of the policy."""
    unit_key = "amount_unit" if facts.metrics[0].key == SPEND.key else "share_unit"
    factor = UNITS[unit_key][policy.parameters[unit_key]]

    def converted(value: float) -> float:
        return value * factor.numerator / factor.denominator

    rules: dict[str, kit.AnswerRule] = {
        "first": lambda values: converted(values[0]),
        "second": lambda values: converted(values[1]),
        "leader": lambda values: facts.subjects[values.index(max(values))].id,
        "total": lambda values: converted(sum(values)),
        "above": lambda values: sum(value > facts.limit for value in values),
        "highest": lambda values: converted(max(values)),
        "before": lambda _values: converted(facts.before),
        "change": lambda values: converted(values[0] - facts.before),
    }
    return {name: rules[question] for name, question in zip(facts.questions, CONTENTS[facts.variant][1], strict=True)}


SCENARIO = MetricsReport()
