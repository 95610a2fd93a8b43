"""Data discrepancies: the wrong source reported, the contracts corrected with a fresh value, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import Group
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.facts import Fact, authority_shown, record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.outcome import Outcome
from companyos_gateway.evaluation.record_corrections import MetricReported, RecordCorrected
from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario, Solution, policy_refs
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.data_discrepancy.documents import (
    ADJUSTMENT,
    Figure,
    RefusalGround,
    Variant,
    add_contracts,
    add_readings,
    draw_figure,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """A figure that sources see differently, and the contracts that hold it."""

    variant: Variant
    ground: RefusalGround | None
    figure: Figure
    metric: MetricSpec
    """What the authority says; the first of its other metrics is the wrong one."""
    source_ids: tuple[str, ...]
    contracts: tuple[RecordRow, ...]
    corrected: Mapping[str, Any]
    """The fields of a contract once it is corrected."""


class DataDiscrepancy(DeclaredScenario[Discrepancy]):
    """Settle what sources disagree about: find the authority, report who is wrong, correct what was filed with it."""

    name, team, topic, max_steps = "data_discrepancy", "data", "data quality", 120
    ticket_type, tags, duplicate_tags = "bug", ("data quality",), ("data quality",)
    held_out = frozenset({Variant.SEVERAL_DERIVED.value})
    always = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
    opt_in_kinds = frozenset[Kind]()
    applicable = buildable_kinds(
        exclude=(Kind.EXPIRED_CERTIFICATE, *(kind for kind in Kind if kind.group is Group.PEOPLE))
    )
    distractors = (
        "datahub_update_vendor",
        "datahub_get_metric_history",
        "ticketdesk_create_ticket",
        "approvalflow_list_approvals",
    )
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        "datahub_list_metrics",
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        "datahub_report_data_issue",
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Discrepancy:
        """Add the vendor, what sources say of it, and its contracts."""
        ground = stream.choice(list(RefusalGround)) if must_refuse else None
        variant, figure = stream.choice(list(Variant)), draw_figure(world, stream.child("figure"), kinds)
        has_authority = ground is not RefusalGround.NO_AUTHORITY
        readings = stream.child("readings")
        metric, source_ids = add_readings(world, readings, figure, kinds, has_authority=has_authority)
        contracts = add_contracts(world, stream.child("contracts"), figure, variant, ground)
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

    def figures(self, facts: Discrepancy, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities; another version asks for another adjustment."""
        figure = facts.figure
        deviation = abs(figure.wrong - figure.value)
        medium, high, critical = draw_priority_limits(stream, deviation, priority, step=figure.topic.step)
        return {
            "medium_from": medium,
            "high_from": high,
            "critical_from": critical,
            "adjusted_below": figure.adjusted_below,
            ADJUSTMENT: figure.percent + (0 if in_force else stream.integer(1, 9)),
        }

    def solution(self, facts: Discrepancy, policy: PolicyRow, ticket_key: str) -> Solution:
        """Report the wrong metric and correct the active contracts, or refuse and change nothing."""
        figure, metric, ids = facts.figure, facts.metric, tuple(one.id for one in facts.contracts)
        known = ReportedValue(metric.key, metric.subject, metric)
        active = [one.id for one in facts.contracts if one.state == "active"]
        corrected = [RecordCorrected(RecordGoal(record_id=one, fields=facts.corrected), known) for one in active]
        wrong = MetricReported(metric.other_metric_ids[0])
        prepared = EntityGoals("records_corrected", corrected), EntityGoals("source_reported", [wrong])
        has_authority = facts.ground is not RefusalGround.NO_AUTHORITY
        return Solution(
            variant=facts.variant,
            outcome=Outcome(
                prepared=() if facts.ground else prepared,
                facts=_facts_against(facts),
                declined="declined",
                metrics=(metric,),
                subjects=ids,
            ),
            refusal=Refusal(facts.ground.value, ids if has_authority else policy_refs(policy))
            if facts.ground
            else None,
            struck={Kind.SIMILAR_NAMES: figure.vendor.id},
        )


def _facts_against(facts: Discrepancy) -> tuple[Fact, ...]:
    """Return the facts on which a refusal rests."""
    ids, value = [one.id for one in facts.contracts], facts.figure.value
    if facts.ground is RefusalGround.NO_AUTHORITY:
        return tuple(map(authority_shown, facts.source_ids))
    if facts.ground is RefusalGround.ENDED:
        return tuple(record_shown(one, "state") for one in ids)
    return (*map(record_shown, ids), MetricChecks(facts.metric).fact(lambda given: given == value))


SCENARIO = DataDiscrepancy()
