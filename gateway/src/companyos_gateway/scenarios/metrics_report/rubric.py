"""The rubric of metrics reports: right answers, fresh when they are declared, and nothing changed but by refreshing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.approval_rubric import predicate_check
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    ChangePolicy,
    added_where,
    issue_allowances,
    metric_allowances,
)
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.evaluation.reported_values import ALWAYS, Answer, Question, check_answers
from companyos_gateway.evaluation.rubric import Finding
from companyos_gateway.scenarios.metrics_report.case import AnswerKind, AnswerSpec, Case, RefusalGround, Variant
from companyos_shared.wire.company import Company

REFRESHED_POINTS = 1.5
RECORDED_POINTS = 2.0
ISSUE_KIND = "missing"


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a report, or of one that cannot be made."""
    end = _Impossible(case) if case.must_refuse else _Report(case, company)
    return TaskRubric(
        checks=[*end.required_checks(), end.change_policy.check()],
        milestones=list(end.milestones()),
        declaration=end.check_declaration,
        damage=end.change_policy.damage,
        rejections=rejections_of(case.agent_id),
        is_closed=lambda _evidence: False,  # `finish` with the answers is the closing act
    )


class _Work:
    """Rubric base: outdated metrics are refreshed, nothing else changes."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.metric_ids = [
            metric_id for figure in case.figures for metric_id in (figure.spec.metric_id, *figure.spec.other_metric_ids)
        ]
        self.change_policy = ChangePolicy(self.allowances())

    def allowances(self) -> Iterable[Allowance]:
        yield from metric_allowances(self.metric_ids)
        yield Allowance(row_views.TICKETDESK, "comments", added_where("ticket_key", [self.case.ticket_key]))

    def milestones(self) -> Iterable[Milestone]:
        for place, figure in enumerate(self.case.figures, start=1):
            if figure.spec.is_stale:
                yield Milestone(f"refreshed_{place}", REFRESHED_POINTS, MetricChecks(figure.spec).is_refreshed)


class _Report(_Work):
    """The answers can be given."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case)
        self.due_at = case.due_at(company)
        self.questions = [Question(one.name, self._answer(one)) for one in case.answers]

    def required_checks(self) -> Iterable[Check]:
        yield predicate_check("figures_read", lambda one: all(figure.was_read(one) for figure in self.case.figures))
        if self.case.variant is Variant.MOVEMENT:
            yield predicate_check("past_read", self.was_past_read)

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        if finish is None or finish.outcome is not FinishOutcome.DONE:
            return False, "no report was declared"
        at = evidence.declared_at
        if at is None or at > self.due_at:
            return False, "declared too late"
        if not all(figure.is_fresh_at(evidence, at) for figure in self.case.figures):
            return False, "a figure was stale when it was declared"
        return check_answers(self.questions, evidence, finish.answers)

    def was_past_read(self, evidence: Evidence) -> bool:
        """Return whether the agent was shown the earlier value of the figure."""
        spec = self.case.figures[0].spec
        return evidence.knew(spec.metric_id, "as_of", before=ALWAYS, value=self.case.before * spec.per_unit)

    def _answer(self, one: AnswerSpec) -> Callable[[Evidence], Answer | None]:
        def answer(evidence: Evidence) -> Answer | None:
            values = [figure.value(evidence) for figure in self.case.figures]
            known = [value for value in values if value is not None]
            return self._computed(one, known) if len(known) == len(values) else None

        return answer

    def _computed(self, one: AnswerSpec, values: list[float]) -> Answer:
        case = self.case
        if one.kind is AnswerKind.LEADER:
            return case.figures[values.index(max(values))].subject
        if one.kind is AnswerKind.ABOVE:
            return float(sum(1 for value in values if value > case.limit))
        found = {
            AnswerKind.VALUE: values[one.of],
            AnswerKind.TOTAL: sum(values),
            AnswerKind.HIGHEST: max(values),
            AnswerKind.BEFORE: case.before,
            AnswerKind.CHANGE: values[one.of] - case.before,
        }
        return float(found[one.kind]) * case.factor.numerator / case.factor.denominator


class _Impossible(_Work):
    """A figure cannot be had: that is recorded once it is known, and declared."""

    def __init__(self, case: Case) -> None:
        assert case.refusal is not None
        self.issue = IssueReportGoal(kind=ISSUE_KIND, subjects=self._subjects(case), refusal=case.refusal)
        super().__init__(case)

    def allowances(self) -> Iterable[Allowance]:
        yield from super().allowances()
        yield from issue_allowances(self.issue.subjects, self.issue.refusal, kinds_without_reason=())

    def milestones(self) -> Iterable[Milestone]:
        yield from super().milestones()
        yield Milestone("recorded", RECORDED_POINTS, self.was_recorded_knowingly)

    def required_checks(self) -> Iterable[Check]:
        yield predicate_check("reason_recorded", self.issue.is_met)
        yield predicate_check("ground_known", self.was_recorded_knowingly)

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        if finish is None or finish.outcome is not FinishOutcome.IMPOSSIBLE:
            return False, "it was not declared impossible"
        if finish.answers:
            return False, "answers were given all the same"
        detail = f"declared for {finish.reason}"
        return self.issue.refusal.matches(finish.reason_code, finish.reason_ref), detail

    def was_recorded_knowingly(self, evidence: Evidence) -> bool:
        """Say whether the agent had seen that the figure cannot be had when it recorded so."""
        change = self.issue.change(evidence)
        return change is not None and self._is_ground_known(evidence, change.step)

    def _is_ground_known(self, evidence: Evidence, step: int) -> bool:
        case, figure = self.case, self.case.figures[0]
        if case.ground is RefusalGround.FAILING:
            return figure.failed_refreshes(evidence, before_step=step) >= case.most_failures
        if case.ground is RefusalGround.MAINTENANCE:
            return figure.was_seen_in_maintenance(evidence, before_step=step)
        return all(evidence.knew(source_id, "authoritative_for", before=step) for source_id in case.measuring_ids)

    @staticmethod
    def _subjects(case: Case) -> frozenset[str]:
        """Return what the issue may be on: the metric that fails; any, where the source or the authority is missing."""
        readings = [figure.spec for figure in case.figures]
        if case.ground is RefusalGround.FAILING:
            return frozenset({readings[0].metric_id})
        if case.ground is RefusalGround.MAINTENANCE:
            return frozenset(reading.metric_id for reading in readings if reading.is_stale)
        return frozenset(one for reading in readings for one in (reading.metric_id, *reading.other_metric_ids))
