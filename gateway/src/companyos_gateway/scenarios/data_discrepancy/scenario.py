"""Data discrepancies: the wrong source reported, the contracts corrected with a fresh value, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

ADJUSTMENT = "adjustment_percent"
MIN_STEPS = 12
"""Minimum difference of the wrong value in steps, which leaves room for three limits of the policy below it."""

ENDED_STATES = ("expired", "terminated")


class Variant(StrEnum):
    """Variant of the case: corrections of a value or also derived values, in one or several records."""

    SINGLE = "single"
    DERIVED = "derived"
    SEVERAL = "several"
    SEVERAL_DERIVED = "several_derived"

    @property
    def is_derived(self) -> bool:
        """Return whether the records hold a derived value."""
        return self in (Variant.DERIVED, Variant.SEVERAL_DERIVED)

    @property
    def is_several(self) -> bool:
        """Return whether several records used the wrong value."""
        return self in (Variant.SEVERAL, Variant.SEVERAL_DERIVED)


class RefusalGround(StrEnum):
    """Ground for correcting nothing; the value is the policy's reason code."""

    AGREED = "completed"
    ENDED = "policy_violation"
    NO_AUTHORITY = "requirement_not_met"


TOPICS = (
    kit.MetricTopic("delivery_score", "Delivery score of {}", "percent", ("risk_index", "spend_to_date"), 30, 98),
    kit.MetricTopic("compliance_score", "Compliance score of {}", "points", ("risk_index", "delivery_score"), 40, 98),
    kit.MetricTopic(
        "spend_to_date", "Spend with {} this year", "EUR", ("delivery_score", "risk_index"), 20, 400, step=1000
    ),
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a vendor on which sources disagree."""

    topic: kit.MetricTopic
    vendor: kit.VendorRow
    lookalike: kit.VendorRow | None
    value: int
    wrong: int
    adjusted_below: int
    """Contracts have an adjustment if their value is below this one."""
    percent: int

    def fields(self, held: int, *, is_derived: bool) -> dict[str, Any]:
        """Return the fields of a contract with the value `held`."""
        adjustment = self.percent if held < self.adjusted_below else 0
        return {self.topic.key: held} | ({ADJUSTMENT: adjustment} if is_derived else {})


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """A figure on which sources disagree, and the contracts that contain it."""

    variant: Variant
    ground: RefusalGround | None
    figure: Figure
    metric: kit.MetricSpec
    """The authority's metric; the first of its other metrics is the wrong one."""
    source_ids: tuple[str, ...]
    contracts: tuple[kit.RecordRow, ...]


class DataDiscrepancy(kit.DeclaredScenario[Discrepancy]):
    """Resolve conflicting data: find the authority, report the wrong metric, and correct the contracts that use it."""

    name, team, topic, max_steps = "data_discrepancy", "data", "data quality", 120
    ticket_type, tags, duplicate_tags = "bug", ("data quality",), ("data quality",)
    held_out = frozenset({Variant.SEVERAL_DERIVED.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC)
    opt_in_kinds = frozenset[kit.Kind]()
    applicable = kit.buildable_kinds(
        exclude=(kit.Kind.EXPIRED_CERTIFICATE, *(kind for kind in kit.Kind if kind.group is kit.Group.PEOPLE))
    )
    distractors = (
        "datahub_update_vendor",
        "datahub_get_metric_history",
        "ticketdesk_create_ticket",
        "approvalflow_list_approvals",
    )
    tools = (
        *kit.COMMON_TOOLS,
        *kit.METRIC_TOOLS,
        "datahub_list_metrics",
        "datahub_get_vendor",
        "datahub_report_data_issue",
    )

    def draw(self, build: kit.BuildContext) -> Discrepancy:
        """Add the vendor, the values of the sources, and the vendor's contracts."""
        ground, variant = build.draw_ground(RefusalGround), build.stream.choice(list(Variant))
        figure = _draw_figure(build.child("figure"))
        metric, source_ids = _add_readings(build.child("readings"), figure, ground)
        contracts = _add_contracts(build.child("contracts"), figure, variant, ground)
        return Discrepancy(
            variant=variant, ground=ground, figure=figure, metric=metric, source_ids=source_ids, contracts=contracts
        )

    def slots(self, facts: Discrepancy) -> Mapping[str, str]:
        """Return the figure, its readings, a source, the vendor and its contract."""
        figure = facts.figure
        return {
            "what": self.texts()["topic"][figure.topic.key],
            "vendor": figure.vendor.legal_name,
            "vendor_id": figure.vendor.id,
            "metric": facts.metric.metric_id,
            "other_metric": facts.metric.other_metric_ids[0],
            "source": facts.metric.source_id,
            "contract": facts.contracts[0].id,
        }

    def policy_body(self, facts: Discrepancy, figures: kit.Figures) -> str:
        """Return the policy on the metric of the ticket."""
        words, topic = self.texts(), facts.figure.topic
        body = str(words["policy"]["body"])
        body = body.replace("LIMIT", words["limit"][topic.unit]).replace("UNIT", words["difference"][topic.unit])
        return body.replace("WHAT", words["topic"][topic.key]).replace("KEY", topic.key)

    def figures(self, facts: Discrepancy, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities; another version requires another adjustment."""
        figure = facts.figure
        deviation = abs(figure.wrong - figure.value)
        return {
            **kit.priority_limits(stream, deviation, priority, step=figure.topic.step, unit=""),
            "adjusted_below": figure.adjusted_below,
            ADJUSTMENT: figure.percent + (0 if in_force else stream.integer(1, 9)),
        }

    def solution(self, facts: Discrepancy, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Report the wrong metric and correct the active contracts, or refuse and change nothing."""
        figure, metric, ids = facts.figure, facts.metric, tuple(one.id for one in facts.contracts)
        fields = figure.fields(figure.value, is_derived=facts.variant.is_derived)
        corrected = [
            kit.RecordCorrected(kit.RecordGoal(record_id=one.id, fields=fields), metric)
            for one in facts.contracts
            if one.state == "active"
        ]
        wrong = kit.MetricReported(metric.other_metric_ids[0])
        prepared = kit.EntityGoals("records_corrected", corrected), kit.EntityGoals("source_reported", [wrong])
        outcome = kit.Outcome(
            prepared=() if facts.ground else prepared,
            facts=_facts_against(facts),
            declined="declined",
            metrics=(metric,),
            subjects=ids,
        )
        against_ids = () if facts.ground is RefusalGround.NO_AUTHORITY else ids
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.refusal_for(facts.ground, policy, *against_ids),
            affected={kit.Kind.SIMILAR_NAMES: figure.vendor.id},
        )


def _facts_against(facts: Discrepancy) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    ids, value = [one.id for one in facts.contracts], facts.figure.value
    if facts.ground is RefusalGround.NO_AUTHORITY:
        return tuple(map(kit.authority_shown, facts.source_ids))
    if facts.ground is RefusalGround.ENDED:
        return tuple(kit.record_shown(one, "state") for one in ids)
    return (*map(kit.record_shown, ids), kit.MetricChecks(facts.metric).fact(lambda given: given == value))


def _draw_figure(build: kit.BuildContext) -> Figure:
    """Draw the vendor, and a right and a wrong value that are far apart."""
    world, stream = build.world, build.stream
    topic, vendor = stream.choice(TOPICS), kit.draw_vendor(world, stream, status="active")
    kit.draw_certificates(world, stream, vendor)
    lookalike = kit.draw_namesake(world, stream, vendor) if kit.Kind.SIMILAR_NAMES in build.kinds else None
    steps = stream.integer(topic.low, topic.high)
    far = [one for one in range(topic.low, topic.high + 1) if abs(one - steps) >= MIN_STEPS]
    value, wrong, grain = steps * topic.step, stream.choice(far) * topic.step, 5 * topic.step
    return Figure(
        topic=topic,
        vendor=vendor,
        lookalike=lookalike,
        value=value,
        wrong=wrong,
        adjusted_below=grain * (stream.integer(min(value, wrong), max(value, wrong) - grain) // grain + 1),
        percent=stream.integer(2, 9),
    )


def _add_readings(
    build: kit.BuildContext, figure: Figure, ground: RefusalGround | None
) -> tuple[kit.MetricSpec, tuple[str, ...]]:
    """Add the metrics of the authority and of the wrong source, and if sources conflict, of a third one that is right.

    Returns the authority's metric, whose first other metric is the wrong one, and the IDs of all sources of the figure.
    """
    world, stream, topic, value = build.world, build.stream, figure.topic, figure.value
    sources = kit.choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    low, high = topic.low * topic.step, topic.high * topic.step

    def but_wrong(drawn: int) -> int:
        return drawn if drawn != figure.wrong else drawn + 1

    def draw_other(own: kit.Stream) -> int:
        return but_wrong(kit.draw_other_value(own, value, low, high))

    subject, name = figure.vendor.id, figure.vendor.legal_name
    usual = topic.plan(sources, subject, name, value, draw_other_value=draw_other, lookalike=figure.lookalike)
    plan = replace(usual, draw_stale_value=lambda own: but_wrong(usual.draw_stale_value(own)))
    metric = kit.add_task_metric(world, stream, plan, build.kinds - {kit.Kind.CONFLICTING_SOURCES})
    rival, third = stream.shuffled(sources.other_sources)
    others = [(rival, figure.wrong), *([(third, value)] if kit.Kind.CONFLICTING_SOURCES in build.kinds else [])]
    other_ids = [
        kit.draw_metric(
            world,
            stream,
            key=plan.key,
            subject=plan.subject,
            title=plan.title,
            unit=plan.unit,
            value=float(reported),
            source=source,
            as_of=world.started_at - timedelta(minutes=stream.integer(5, 60)),
        ).id
        for source, reported in others
    ]
    if ground is RefusalGround.NO_AUTHORITY:
        sources.authority.authoritative_for.remove(topic.key)
    source_ids = sorted([sources.authority.id, *(source.id for source, _ in others)])
    return replace(metric, other_metric_ids=tuple(other_ids)), tuple(source_ids)


def _add_contracts(
    build: kit.BuildContext, figure: Figure, variant: Variant, ground: RefusalGround | None
) -> tuple[kit.RecordRow, ...]:
    """Add contracts with and without the figure; return the vendor's contracts with the figure, active ones first."""
    world, stream, vendor = build.world, build.stream, figure.vendor
    held = figure.value if ground is RefusalGround.AGREED else figure.wrong
    fields = figure.fields(held, is_derived=variant.is_derived)
    kit.draw_contract(world, stream, vendor, state="active")
    active = stream.integer(2, 3) if variant.is_several else 1
    if ground is RefusalGround.ENDED:
        states = [stream.choice(ENDED_STATES)]
    else:
        states = ["active"] * active + ([stream.choice(ENDED_STATES)] if variant.is_several else [])
    records = tuple(kit.draw_contract(world, stream, vendor, state=state) for state in states)
    for record in records:
        record.fields |= fields
    if figure.lookalike is not None:
        record = kit.draw_contract(world, stream, figure.lookalike, state="active")
        record.fields |= {**fields, figure.topic.key: figure.wrong}
    return records


SCENARIO = DataDiscrepancy()
