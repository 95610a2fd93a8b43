"""The generator of metrics reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.drift import synonyms
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.scenarios.api import Instance
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES
from companyos_gateway.scenarios.blocks.ticket import TicketPlan, add_task_ticket
from companyos_gateway.scenarios.blocks.ticket_scenario import (
    TicketScenario,
)
from companyos_gateway.scenarios.blocks.tools import METRIC_TOOLS, POLICY_TOOLS
from companyos_gateway.scenarios.metrics_report.case import NAME, AnswerKind, AnswerSpec, Case, RefusalGround, Variant
from companyos_gateway.scenarios.metrics_report.documents import PolicyParameters, Subject, add_figures, texts
from companyos_gateway.scenarios.metrics_report.policy import add_policy
from companyos_gateway.scenarios.metrics_report.rubric import build_rubric
from companyos_gateway.world import finish_world
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
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

TEAM = "data"
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


class MetricsReport(TicketScenario[Case]):
    """Report figures as typed answers: by the authority, fresh, in the policy's unit, and change nothing."""

    name = NAME
    texts = staticmethod(texts)
    team = TEAM
    always = ALWAYS
    applicable = APPLICABLE
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
    )
    distractors = DISTRACTORS
    held_out = frozenset({Variant.COUNT.value})

    def add_task(self, context: BuildContext) -> tuple[Case, Mapping[Kind, str]]:
        """Put one request for figures and the obstacles drawn for it into the company."""
        world, stream, kinds = context.world, context.stream, context.kinds
        figures = add_figures(world, stream.child("figures"), kinds, must_refuse=context.must_refuse)
        policy_terms = add_policy(world, stream.child("rules"), figures.topic, kinds)
        answers = draw_answers(stream.child("answers"), figures.variant)
        plan = ticket_plan(world, figures, answers, kinds)
        priority = stream.child("priority").choice(PRIORITIES)
        task_ticket = add_task_ticket(world, stream.child("desk"), plan, priority=priority, kinds=())
        finish_world(world)
        case = Case(
            **task_ticket.case_fields(world, (), priority),
            approver_ids=(),
            refusal=_refusal(figures, policy_terms.policy),
            variant=figures.variant,
            ground=figures.ground,
            figures=figures.figures,
            answers=answers,
            factor=policy_terms.factor,
            limit=figures.limit,
            before=figures.before,
            measuring_ids=figures.measuring_ids,
            available_at=figures.available_at,
            most_failures=policy_terms.most_failures,
            policy_id=policy_terms.policy.policy_id,
            kinds=kinds,
        )
        return case, _struck_entities(case)

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises ChaosError for a level or overrides that do not fit."""
        return ensure_required_rename(super().plan(seed, chaos, overrides), Stream(NAME, seed, "needed names"))

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a metrics report."""
        return build_rubric(case, company)


def _refusal(figures: PolicyParameters, policy: PolicyRow) -> Refusal | None:
    if figures.ground is None:
        return None
    if figures.ground is RefusalGround.NO_AUTHORITY:
        return Refusal("requirement_not_met", (policy.policy_id, policy.id))
    return Refusal("data_unavailable", (figures.figures[0].spec.source_id,))


def _struck_entities(case: Case) -> dict[Kind, str]:
    first = case.figures[0]
    return {
        Kind.STALE_METRIC: first.spec.metric_id,
        Kind.UNIT_MISMATCH: first.spec.metric_id,
        Kind.FAILED_PIPELINE: first.spec.source_id,
        Kind.CONFLICTING_SOURCES: first.key,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.ANNOUNCED_POLICY: case.policy_id,
        Kind.SIMILAR_NAMES: first.subject,
    }


SCENARIO = MetricsReport()


REQUIRED_FIELDS = frozenset(
    {
        "ticketdesk.due_at",
        "datahub.as_of",
        "datahub.is_stale",
        "datahub.parameters",
        "datahub.authoritative_for",
    }
)
"""What every report reads: until when, how old, in which unit, by whose word; none reads a ticket's status."""


def ensure_required_rename(instance: Instance, stream: Stream) -> Instance:
    """Return the instance, in which a field of DataHub that is needed has another name where none has."""
    renamed = _flat_names(instance.drift.names)
    if not renamed or renamed.keys() & REQUIRED_FIELDS:
        return instance
    names = {**instance.drift.names, "datahub": {"parameters": stream.choice(synonyms()["datahub"]["parameters"])}}
    injections = tuple(
        replace(one, detail=_flat_names(names)) if one.kind is Kind.RENAMED_FIELDS else one
        for one in instance.injections
    )
    return replace(instance, drift=replace(instance.drift, names=names), injections=injections)


def _flat_names(names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {f"{service}.{usual}": name for service, table in names.items() for usual, name in table.items()}


DUE_IN_WORKING_DAYS = (3, 6)
ANSWERS_BY_VARIANT: dict[Variant, tuple[tuple[AnswerKind, int], ...]] = {
    Variant.SINGLE: ((AnswerKind.VALUE, 0),),
    Variant.COMPARISON: ((AnswerKind.VALUE, 0), (AnswerKind.VALUE, 1), (AnswerKind.LEADER, 0)),
    Variant.TOTAL: ((AnswerKind.TOTAL, 0), (AnswerKind.HIGHEST, 0)),
    Variant.COUNT: ((AnswerKind.ABOVE, 0), (AnswerKind.HIGHEST, 0)),
    Variant.MOVEMENT: ((AnswerKind.VALUE, 0), (AnswerKind.BEFORE, 0), (AnswerKind.CHANGE, 0)),
}


def draw_answers(stream: Stream, variant: Variant) -> tuple[AnswerSpec, ...]:
    """Draw by which names a report is answered."""
    expected = ANSWERS_BY_VARIANT[variant]
    names = stream.choice(texts()["answers"])
    return tuple(AnswerSpec(name, kind, of) for name, (kind, of) in zip(names, expected, strict=False))


def ticket_plan(
    world: WorldBuilder, figures: PolicyParameters, answers: Collection[AnswerSpec], kinds: Collection[Kind]
) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()
    topic = words["topic"][figures.topic.key]

    def describe(stream: Stream) -> str:
        person = stream.choice(world.staff.active()).name
        intro = stream.choice(words["intros"]).format(person=person, topic=stream.choice(topic))
        lines = [
            f"({place}) {_cite(stream, subject, kinds)}" for place, subject in enumerate(figures.subjects, start=1)
        ]
        kind = [f"- `{one.name}`: {_question(stream, one, figures)}" for one in answers]
        return "\n".join([intro, *lines, stream.choice(words["closings"]), *kind])

    return TicketPlan(
        team_id=TEAM,
        titles=words["titles"],
        describe=describe,
        fill=lambda _stream, text: text,
        words=words,
        duplicate_texts=(),
        tags=["figures", "report"],
        duplicate_tags=(),
        type="request",
        due_in=DUE_IN_WORKING_DAYS,
    )


def _cite(stream: Stream, subject: Subject, kinds: Collection[Kind]) -> str:
    by_id = stream.chance(0.4)
    return subject.id if by_id and Kind.SIMILAR_NAMES not in kinds else subject.name


def _question(stream: Stream, one: AnswerSpec, figures: PolicyParameters) -> str:
    text: str = stream.choice(texts()["asked"][one.kind.value])
    return text.format(of=one.of + 1, limit=figures.limit, unit=figures.topic.unit, day=figures.day)
