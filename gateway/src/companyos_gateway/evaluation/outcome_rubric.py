"""The rubric that follows from a declared outcome."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation.approval_requests import RequestChecks
from companyos_gateway.evaluation.approval_rubric import ApprovalRubric, CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.milestones import Milestone, shared_milestones
from companyos_gateway.evaluation.outcome import DeclaredCase
from companyos_gateway.evaluation.rubric import Check, TaskRubric
from companyos_gateway.evaluation.sequential_approvals import (
    SequentialApprovalRubric,
    SequentialCompletedOutcome,
    SequentialRefusedOutcome,
)
from companyos_shared.wire.company import Company


def build_rubric(case: DeclaredCase, company: Company) -> TaskRubric:
    """Return the rubric of a task: that of work with its approvals, or that of a refusal."""
    rubric: ApprovalRubric
    if len(case.outcome.requests) == 1:
        rubric = (_Refused if case.must_refuse else _Completed)(case, company)
    else:
        rubric = (_SequentialRefused if case.must_refuse else _SequentialCompleted)(case, company)
    return rubric.rubric()


def checks_of(case: DeclaredCase, company: Company) -> dict[str, RequestChecks]:
    """Return the checks of the required requests, by type."""
    found: dict[str, RequestChecks] = {}
    for request in case.outcome.requests:
        found[request.type_key] = request.checks(case, company, found)
    return found


def allowances_of(case: DeclaredCase) -> Iterable[Allowance]:
    """Return what a task may change besides its requests and goals."""
    outcome = case.outcome
    metrics = [name for one in outcome.metrics for name in (one.metric_id, *one.other_metric_ids)]
    sources = [one.source_id for one in outcome.metrics]
    yield from ticket_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([*outcome.subjects, *sources, *metrics], case.refusal)
    yield from outcome.allowances


class _Declared(ApprovalRubric):
    """Checks and milestones on metrics, whatever the end."""

    ticket_case: DeclaredCase

    @property
    def stale_metrics(self) -> list[MetricChecks]:
        """The metrics that have to be refreshed."""
        return [MetricChecks(one) for one in self.ticket_case.outcome.metrics if one.is_stale]

    def scenario_milestones(self) -> Iterable[Milestone]:
        """Return a milestone for each refresh."""
        stale = self.stale_metrics
        yield from shared_milestones("refreshed", {f"refreshed_{one.spec.key}": one.is_refreshed for one in stale})


class _RefreshChecked(_Declared):
    """Work that rests on fresh metrics."""

    def scenario_checks(self) -> Iterable[Check]:
        """Return a check for each metric that has to be refreshed."""
        return [one.refreshed_check(f"{one.spec.key}_refreshed") for one in self.stale_metrics]


class _FactsChecked(_Declared, RefusedOutcome):
    """Refusals that rest on facts."""

    def scenario_checks(self) -> Iterable[Check]:
        """Return the check that the deciding facts were known."""
        yield self.facts_check("facts_known", *self.ticket_case.outcome.facts)


class _OneApproval(_Declared):
    """Work with one approval."""

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        (requests,) = checks_of(case, company).values()
        goals = () if case.must_refuse else case.outcome.goals
        allowances = [*allowances_of(case), *request_allowances(requests)]
        super().__init__(case, company, requests=requests, allowances=allowances, goals=goals)


class _Completed(_OneApproval, _RefreshChecked, CompletedOutcome):
    pass


class _Refused(_OneApproval, _FactsChecked):
    pass


class _SeveralApprovals(_Declared, SequentialApprovalRubric):
    """Work with several approvals in order."""

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        goals = () if case.must_refuse else case.outcome.goals
        stages = checks_of(case, company)
        super().__init__(case, company, stages=stages, allowances=allowances_of(case), goals=goals)


class _SequentialCompleted(_SeveralApprovals, _RefreshChecked, SequentialCompletedOutcome):
    pass


class _SequentialRefused(_SeveralApprovals, _FactsChecked, SequentialRefusedOutcome):
    pass
