"""The rubric of discrepancies: the wrong source reported, the records corrected with a fresh value, nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric
from companyos_gateway.evaluation.change_policy import Allowance, issue_allowances, metric_allowances, ticket_allowances
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.facts import RequiredFacts, authority_shown, record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.milestones import milestone
from companyos_gateway.evaluation.multi_goal_rubric import MultiGoalRubric
from companyos_gateway.evaluation.record_corrections import MetricReported, RecordCorrected
from companyos_gateway.evaluation.ticket_rubric import TicketRefusedOutcome
from companyos_gateway.scenarios.data_discrepancy.case import Case, RefusalGround
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a correction, or of a refusal."""
    return (_Refusal(case, company) if case.must_refuse else _Correction(case, company)).rubric()


class _Correction(MultiGoalRubric):
    """Something has to be corrected, and somebody to be reported."""

    def __init__(self, case: Case, company: Company) -> None:
        goals = [RecordGoal(record_id=record_id, fields=fields) for record_id, fields in case.corrections.items()]
        entity_goals = [
            EntityGoals("records_corrected", [RecordCorrected(goal, case.figure) for goal in goals]),
            EntityGoals("source_reported", [MetricReported(case.wrong_metric_id)]),
        ]
        super().__init__(case, company, allowances=_allowances(case), entity_goals=entity_goals)
        self.case = case

    def scenario_milestones(self) -> Iterable[Milestone]:
        yield from _refreshed(self.case)


class _Refusal(TicketRefusedOutcome):
    """Nothing has to be corrected, or nobody can say what is right."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def scenario_milestones(self) -> Iterable[Milestone]:
        yield from _refreshed(self.case)
        yield milestone("declined", self.was_declined)

    def scenario_checks(self) -> Iterable[Check]:
        yield self.knowledge.check("ground_known")

    def was_declined(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason, by somebody who knew it."""
        return self.tickets.is_cancelled_for_reason(evidence) and self.knowledge.were_known(evidence)

    @property
    def knowledge(self) -> RequiredFacts:
        """The facts against a correction."""
        case = self.case
        if case.ground is RefusalGround.NO_AUTHORITY:
            return RequiredFacts(tuple(map(authority_shown, case.measuring_ids)), self.cancellation)
        if case.ground is RefusalGround.ENDED:
            states = tuple(record_shown(record_id, "state") for record_id in case.record_ids)
            return RequiredFacts(states, self.cancellation)
        return RequiredFacts((*map(record_shown, case.record_ids), case.figure.fact()), self.cancellation)


def _refreshed(case: Case) -> Iterable[Milestone]:
    if case.figure.spec.is_stale:
        yield milestone("refreshed", MetricChecks(case.figure.spec).is_refreshed)


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    yield from metric_allowances(case.metric_ids)
    yield from issue_allowances([*case.record_ids, case.figure.spec.source_id, *case.metric_ids], case.refusal)
