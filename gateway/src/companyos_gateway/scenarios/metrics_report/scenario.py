"""The generator of metrics reports."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.scenarios.metrics_report.case import NAME, Case, Ground, Shape
from companyos_gateway.scenarios.metrics_report.drift import with_needed_names
from companyos_gateway.scenarios.metrics_report.figures import Figures, add_figures, texts
from companyos_gateway.scenarios.metrics_report.rubric import build_rubric
from companyos_gateway.scenarios.metrics_report.rules import add_rules
from companyos_gateway.scenarios.metrics_report.ticket import TEAM, draw_answers, entry_plan
from companyos_gateway.scenarios.parts.entry import add_entry
from companyos_gateway.scenarios.parts.rulebook import LADDER
from companyos_gateway.scenarios.parts.staging import Staged, StagedScenario, act_for, draw_chances, injections
from companyos_gateway.scenarios.parts.tools import METRIC_TOOLS, POLICY_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.scenarios.scenario import Instance
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

APPLICABLE = (
    Kind.STALE_METRIC,
    Kind.UNIT_MISMATCH,
    Kind.CONFLICTING_SOURCES,
    Kind.FAILED_PIPELINE,
    Kind.SUPERSEDED_POLICY,
    Kind.ANNOUNCED_POLICY,
    Kind.SIMILAR_NAMES,
)
"""Nothing but figures is asked for: what strikes tickets and approvals means nothing here."""

ALWAYS = (Kind.STALE_METRIC,)
DISTRACTORS = (
    "datahub_update_record",
    "datahub_search_people",
    "ticketdesk_search_tickets",
    "ticketdesk_list_comments",
    "ticketdesk_add_comment",
    "ticketdesk_update_ticket",
    "ticketdesk_transition_ticket",
)


class MetricsReport(StagedScenario[Case]):
    """Report figures as typed answers: by the authority, fresh, in the policy's unit, and change nothing."""

    name = NAME
    max_steps = 100
    tools = (
        "ticketdesk_get_ticket",
        *METRIC_TOOLS,
        "datahub_list_metrics",
        "datahub_get_metric_history",
        "datahub_list_sources",
        "datahub_search_records",
        "datahub_get_record",
        "datahub_get_vendor",
        *POLICY_TOOLS,
        "datahub_report_data_issue",
        *DISTRACTORS,
    )
    distractors = DISTRACTORS
    held_out = frozenset({Shape.COUNT.value})

    def stage(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one request for figures with all that is in its way into it."""
        return stage(seed, profile, overrides)

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises ChaosError for a level or overrides that do not fit."""
        return with_needed_names(super().plan(seed, chaos, overrides), Stream(NAME, seed, "needed names"))

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a metrics report."""
        return build_rubric(case, company)


def stage(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one request for figures with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    figures = add_figures(world, stream.child("figures"), kinds, must_refuse=chances.must_refuse)
    rules = add_rules(world, stream.child("rules"), figures.topic, kinds)
    answers = draw_answers(stream.child("answers"), figures.shape)
    plan = entry_plan(world, figures, answers, kinds)
    priority = stream.child("priority").choice(LADDER)
    entry = add_entry(world, stream.child("desk"), plan, priority=priority, kinds=())
    finish_world(world)
    case = Case(
        **entry.facts(world, (), priority),
        approver_ids=(),
        refusal=_refusal(figures, rules.policy),
        shape=figures.shape,
        ground=figures.ground,
        figures=figures.figures,
        answers=answers,
        factor=rules.factor,
        limit=figures.limit,
        before=figures.before,
        measuring_ids=figures.measuring_ids,
        available_at=figures.available_at,
        most_failures=rules.most_failures,
        policy_id=rules.policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _entities(case)))


def _refusal(figures: Figures, policy: PolicyRow) -> Refusal | None:
    if figures.ground is None:
        return None
    if figures.ground is Ground.NO_AUTHORITY:
        return Refusal("requirement_not_met", (policy.policy_id, policy.id))
    return Refusal("data_unavailable", (figures.figures[0].reading.source_id,))


def _entities(case: Case) -> dict[Kind, str]:
    first = case.figures[0]
    return {
        Kind.STALE_METRIC: first.reading.metric_id,
        Kind.UNIT_MISMATCH: first.reading.metric_id,
        Kind.FAILED_PIPELINE: first.reading.source_id,
        Kind.CONFLICTING_SOURCES: first.key,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.ANNOUNCED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: first.subject,
    }


SCENARIO = MetricsReport()
