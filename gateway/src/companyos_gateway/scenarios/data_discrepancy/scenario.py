"""Data discrepancies: the wrong source reported, the contracts corrected with a fresh value, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.data_discrepancy.documents import (
    ADJUSTMENT,
    Figure,
    RefusalGround,
    Variant,
    add_contracts,
    add_readings,
    draw_figure,
)


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """A figure that sources see differently, and the contracts that hold it."""

    variant: Variant
    ground: RefusalGround | None
    figure: Figure
    metric: kit.MetricSpec
    """What the authority says; the first of its other metrics is the wrong one."""
    source_ids: tuple[str, ...]
    contracts: tuple[kit.RecordRow, ...]
    corrected: Mapping[str, Any]
    """The fields of a contract once it is corrected."""


class DataDiscrepancy(kit.DeclaredScenario[Discrepancy]):
    """Settle what sources disagree about: find the authority, report who is wrong, correct what was filed with it."""

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
        *kit.TICKET_TOOLS,
        *kit.METRIC_TOOLS,
        "datahub_list_metrics",
        *kit.RECORD_TOOLS,
        "datahub_get_vendor",
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        "datahub_report_data_issue",
    )

    def draw(self, build: kit.BuildContext) -> Discrepancy:
        """Add the vendor, what sources say of it, and its contracts."""
        stream = build.stream
        ground = build.draw_ground(RefusalGround)
        variant, figure = stream.choice(list(Variant)), draw_figure(build.child("figure"))
        has_authority = ground is not RefusalGround.NO_AUTHORITY
        metric, source_ids = add_readings(build.child("readings"), figure, has_authority=has_authority)
        contracts = add_contracts(build.child("contracts"), figure, variant, ground)
        return Discrepancy(
            variant=variant,
            ground=ground,
            figure=figure,
            metric=metric,
            source_ids=source_ids,
            contracts=contracts,
            corrected=figure.fields(figure.value, is_derived=variant.is_derived),
        )

    def slots(self, facts: Discrepancy) -> Mapping[str, str]:
        """Name the figure and the vendor."""
        figure = facts.figure
        return {
            "what": self.texts()["topic"][figure.topic.key],
            "vendor": figure.vendor.legal_name,
            "vendor_id": figure.vendor.id,
        }

    def figures(self, facts: Discrepancy, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities; another version asks for another adjustment."""
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
        known = kit.ReportedValue(metric.key, metric.subject, metric)
        active = [one.id for one in facts.contracts if one.state == "active"]
        corrected = [
            kit.RecordCorrected(kit.RecordGoal(record_id=one, fields=facts.corrected), known) for one in active
        ]
        wrong = kit.MetricReported(metric.other_metric_ids[0])
        prepared = kit.EntityGoals("records_corrected", corrected), kit.EntityGoals("source_reported", [wrong])
        has_authority = facts.ground is not RefusalGround.NO_AUTHORITY
        return kit.Solution(
            variant=facts.variant,
            outcome=kit.Outcome(
                prepared=() if facts.ground else prepared,
                facts=_facts_against(facts),
                declined="declined",
                metrics=(metric,),
                subjects=ids,
            ),
            refusal=kit.Refusal(facts.ground.value, ids if has_authority else kit.policy_refs(policy))
            if facts.ground
            else None,
            struck={kit.Kind.SIMILAR_NAMES: figure.vendor.id},
        )


def _facts_against(facts: Discrepancy) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal rests."""
    ids, value = [one.id for one in facts.contracts], facts.figure.value
    if facts.ground is RefusalGround.NO_AUTHORITY:
        return tuple(map(kit.authority_shown, facts.source_ids))
    if facts.ground is RefusalGround.ENDED:
        return tuple(kit.record_shown(one, "state") for one in ids)
    return (*map(kit.record_shown, ids), kit.MetricChecks(facts.metric).fact(lambda given: given == value))


SCENARIO = DataDiscrepancy()
