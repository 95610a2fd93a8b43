"""The rubric of discrepancies: the wrong source reported, the records corrected with a fresh value, nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, metric_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.corrections import MetricReported, RecordCorrected
from companyos_gateway.rubrics.deskwork import Declined, paid, plain_check
from companyos_gateway.rubrics.ends import Ends
from companyos_gateway.rubrics.errand import Errand
from companyos_gateway.rubrics.readings import ReadingRules
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.scenarios.data_discrepancy.case import Case, RefusalGround
from companyos_shared.wire.company import Company

DECLINED_POINTS = 2.0


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a correction, or of a refusal."""
    return (_Refusal(case, company) if case.must_refuse else _Correction(case, company)).rubric()


class _Correction(Errand):
    """Something has to be corrected, and somebody to be reported."""

    def __init__(self, case: Case, company: Company) -> None:
        goals = [RecordGoal(record_id=record_id, fields=fields) for record_id, fields in case.corrections.items()]
        ends = [
            Ends("records_corrected", [RecordCorrected(goal, case.figure) for goal in goals]),
            Ends("source_reported", [MetricReported(case.wrong_metric_id)]),
        ]
        super().__init__(case, company, allowances=_allowances(case), ends=ends)
        self.case = case

    def own_milestones(self) -> Iterable[Milestone]:
        yield from _refreshed(self.case)


class _Refusal(Declined):
    """Nothing has to be corrected, or nobody can say what is right."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def own_milestones(self) -> Iterable[Milestone]:
        yield from _refreshed(self.case)
        yield Milestone("declined", DECLINED_POINTS, self.was_declined)

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("ground_known", self.was_ground_known)

    def was_declined(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason, by somebody who knew it."""
        return self.tickets.is_cancelled_for_the_reason(evidence) and self.was_ground_known(evidence)

    def was_ground_known(self, evidence: Evidence) -> bool:
        """Say whether the agent had seen what speaks against a correction when it cancelled the ticket."""
        case, change = self.case, self.tickets.end(evidence, "cancelled")
        if change is None:
            return False
        if case.ground is RefusalGround.NO_AUTHORITY:
            return all(
                was_looked_at(evidence, facts.DATAHUB, "get_source", before_step=change.step, source_id=source_id)
                for source_id in case.measuring_ids
            )
        were_read = all(
            was_looked_at(evidence, facts.DATAHUB, "get_record", before_step=change.step, record_id=record_id)
            for record_id in case.record_ids
        )
        return were_read and (case.ground is RefusalGround.ENDED or case.figure.was_known(evidence, change))


def _refreshed(case: Case) -> Iterable[Milestone]:
    if case.figure.reading.is_stale:
        yield paid("refreshed", ReadingRules(case.figure.reading).is_refreshed)


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from entry_allowances(case)
    yield from metric_allowances(case.metric_ids)
