"""The rubric of metrics reports: right answers, fresh when they are declared, and nothing changed but by refreshing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    ChangePolicy,
    added_where,
    issue_allowances,
    metric_allowances,
    taken_back_allowances,
)
from companyos_gateway.evaluation.facts import Fact, RequiredFacts, authority_shown
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.milestones import milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, format_age, format_value, one_of
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.evaluation.reported_values import ALWAYS, Answer, Question, check_answers
from companyos_gateway.evaluation.rubric import DECLARATION
from companyos_gateway.scenarios.metrics_report.case import AnswerKind, AnswerSpec, Case, RefusalGround, Variant
from companyos_shared.wire.company import Company

ISSUE_KIND = "missing"


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a report, or of one that cannot be made."""
    end = _Impossible(case) if case.must_refuse else _Report(case, company)
    return TaskRubric(
        checks=[
            *end.required_checks(),
            end.change_policy.check(),
            guessing_check(case.agent_id, lambda _evidence, _request: False),
        ],
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
        subjects = [*self.metric_ids, *(figure.spec.source_id for figure in self.case.figures)]
        yield from issue_allowances(subjects, self.case.refusal)
        yield from taken_back_allowances(self.case.agent_id)
        yield Allowance(row_views.TICKETDESK, "comments", added_where("ticket_key", [self.case.ticket_key]))

    def milestones(self) -> Iterable[Milestone]:
        stale = {place: figure.spec for place, figure in enumerate(self.case.figures, start=1) if figure.spec.is_stale}
        parts = {f"refreshed_{place}": MetricChecks(spec).is_refreshed for place, spec in stale.items()}
        yield from shared_milestones("figures_refreshed", parts)


class _Report(_Work):
    """The answers can be given."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case)
        self.due_at = case.due_at(company)
        self.questions = [Question(one.name, self._answer(one)) for one in case.answers]

    def required_checks(self) -> Iterable[Check]:
        yield Check("figures_read", False, self.find_unread_figure)
        if self.case.variant is Variant.MOVEMENT:
            yield Check("past_read", False, self.find_unread_past)

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        if finish is None or finish.outcome is not FinishOutcome.DONE:
            found = "nothing declared" if finish is None else f"outcome: {finish.outcome}"
            return Mismatch(DECLARATION, "outcome: done, with the answers", found)
        at = evidence.declared_at
        if at is None or at > self.due_at:
            return Mismatch(DECLARATION, f"declared by {self.due_at.isoformat()}", format_value(at))
        for figure in self.case.figures:
            if not figure.is_fresh_at(evidence, at):
                return Mismatch(
                    figure.row_path, f"at most {format_age(figure.spec.max_age)} old when declared", "outdated"
                )
        return check_answers(self.questions, evidence, finish.answers)

    def find_unread_figure(self, evidence: Evidence) -> Mismatch | None:
        """Return the first figure that the agent was not shown, None if it was shown all."""
        return next(filter(None, (figure.find_unread(evidence) for figure in self.case.figures)), None)

    def find_unread_past(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the agent was not shown the earlier value of the figure."""
        figure, value = self.case.figures[0], self.case.before * self.case.figures[0].spec.per_unit
        if evidence.knew(figure.spec.metric_id, "as_of", before=ALWAYS, value=value):
            return None
        return Mismatch(figure.row_path, f"the earlier value {format_value(value)}, shown to the agent", "not shown")

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

    def milestones(self) -> Iterable[Milestone]:
        yield from super().milestones()
        yield milestone("reason_recorded", self.was_recorded_knowingly)

    def required_checks(self) -> Iterable[Check]:
        yield Check("reason_recorded", False, self.issue.mismatch)
        yield self.knowledge.check("ground_known", caused_by=("reason_recorded",))

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        refusal = self.issue.refusal
        expected = f"outcome: impossible, {refusal.code} {one_of(refusal.references)}, without answers"
        if finish is None:
            return Mismatch(DECLARATION, expected, "nothing declared")
        is_impossible = finish.outcome is FinishOutcome.IMPOSSIBLE and not finish.answers
        if is_impossible and refusal.matches(finish.reason_code, finish.reason_ref):
            return None
        answers = ", with answers" if finish.answers else ""
        return Mismatch(DECLARATION, expected, f"outcome: {finish.outcome}, {finish.reason}{answers}")

    def was_recorded_knowingly(self, evidence: Evidence) -> bool:
        """Say whether the agent had seen that the figure cannot be had when it recorded so."""
        return self.knowledge.were_known(evidence)

    @property
    def knowledge(self) -> RequiredFacts:
        """The facts by which the figure is unavailable."""
        case, figure = self.case, self.case.figures[0]
        if case.ground is RefusalGround.FAILING:
            facts: tuple[Fact, ...] = (figure.failures_fact(case.most_failures),)
        elif case.ground is RefusalGround.MAINTENANCE:
            facts = (figure.maintenance_fact(),)
        else:
            facts = tuple(map(authority_shown, case.measuring_ids))
        return RequiredFacts(facts, self.issue.change, "the issue was reported")

    @staticmethod
    def _subjects(case: Case) -> frozenset[str]:
        """Return what the issue may be on: the metric that fails; any, where the source or the authority is missing."""
        readings = [figure.spec for figure in case.figures]
        if case.ground is RefusalGround.FAILING:
            return frozenset({readings[0].metric_id})
        if case.ground is RefusalGround.MAINTENANCE:
            return frozenset(reading.metric_id for reading in readings if reading.is_stale)
        return frozenset(one for reading in readings for one in (reading.metric_id, *reading.other_metric_ids))
