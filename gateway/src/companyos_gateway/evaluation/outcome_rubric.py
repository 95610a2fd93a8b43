"""The rubric that follows from a declared outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from companyos_gateway.evaluation.approval_requests import RequestChecks
from companyos_gateway.evaluation.approval_rubric import ApprovalRubric, CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import RequiredFacts
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.milestones import Milestone, milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.evaluation.outcome import DeclaredCase, Outcome
from companyos_gateway.evaluation.rubric import Check, TaskRubric
from companyos_gateway.evaluation.sequential_approvals import (
    SequentialApprovalRubric,
    SequentialCompletedOutcome,
    SequentialRefusedOutcome,
)
from companyos_gateway.evaluation.ticket_rubric import TicketCompletedOutcome, TicketRefusedOutcome, TicketRubric
from companyos_shared.wire.company import Company

_RubricClass = Callable[[DeclaredCase, Company], TicketRubric]


def build_rubric(case: DeclaredCase, company: Company) -> TaskRubric:
    """Return the rubric of a task: that of work with its approvals, or that of a refusal."""
    case = replace(case, outcome=case.outcome.with_escalations(company))
    done, refused = _RUBRICS[min(len(case.outcome.requests), 2)]
    return (refused if case.must_refuse else done)(case, company).rubric()


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
    for one in outcome.prepared:
        yield from one.allowances()
    if outcome.act is not None:
        yield from outcome.act.allowances()
    yield from outcome.allowances


class _Declared(TicketRubric):
    """Base of both ends: metrics to refresh, entities to settle, and damage."""

    ticket_case: DeclaredCase

    @property
    def outcome(self) -> Outcome:
        """The declared outcome."""
        return self.ticket_case.outcome

    @property
    def stale_metrics(self) -> list[MetricChecks]:
        """The metrics that have to be refreshed."""
        return [MetricChecks(one) for one in self.outcome.metrics if one.is_stale]

    def scenario_checks(self) -> Iterable[Check]:
        """Return a check for each kind of entity that has to be settled."""
        return [one.check() for one in self.outcome.prepared]

    def scenario_milestones(self) -> Iterable[Milestone]:
        """Return a milestone for each refresh and each settled entity."""
        stale = self.stale_metrics
        settled = {name: part for one in self.outcome.prepared for name, part in one.parts()}
        yield from shared_milestones("refreshed", {f"refreshed_{one.spec.key}": one.is_refreshed for one in stale})
        yield from shared_milestones("prepared" if self.outcome.requests else "entities", settled)

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the entities of the task that were brought to a wrong end for good."""
        yield from super().task_damage(evidence)
        yield from self.outcome.forbidden(evidence)
        for one in self.outcome.prepared:
            yield from one.damage(evidence)


class _Done(_Declared, TicketCompletedOutcome):
    """The work is done."""

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks on fresh metrics and settled entities."""
        for metric in self.stale_metrics:
            yield metric.refreshed_check(f"{metric.spec.key}_refreshed")
        yield from super().scenario_checks()

    def find_unfinished_work(self, evidence: Evidence, step: int) -> list[str]:
        """Return the entities that were not settled once a step had been taken."""
        return [path for one in self.outcome.prepared for path in one.unmet(evidence, step=step)]


class _ApprovedWork(_Done, CompletedOutcome):
    """The work is done, and was approved."""

    def scenario_checks(self) -> Iterable[Check]:
        """Return the check that entities were settled before the request was made."""
        yield from super().scenario_checks()
        prepared = self.outcome.prepared
        if prepared:
            causes = ("approval_given", *(one.name for one in prepared))
            yield self.complete_request_check("settled_before_request", *prepared, caused_by=causes)


class _Refused(_Declared, TicketRefusedOutcome):
    """The policy does not allow the work."""

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks on the deciding facts, and on what has to be done before the ticket is cancelled."""
        yield from super().scenario_checks()
        act, facts = self.outcome.act, self.outcome.facts
        if act is None:
            yield self.facts_check("facts_known", *facts)
            return
        yield Check(act.check_id, False, act.mismatch)
        yield RequiredFacts(facts, act.change, "the agent decided").check("facts_known", caused_by=(act.check_id,))
        yield Check("done_before_cancelled", False, self.find_late_act, ("ticket_cancelled", act.check_id))

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of what has to be done before and of the refusal itself."""
        act, declined = self.outcome.act, self.outcome.declined
        if act is not None:
            yield milestone(act.milestone, act.is_met)
        if declined is not None:
            yield milestone(declined, self.was_declined)

    def was_declined(self, evidence: Evidence) -> bool:
        """Return whether the ticket is cancelled for the reason, by an agent that knew the facts behind it."""
        known = RequiredFacts(self.outcome.facts, self.cancellation)
        return self.tickets.is_cancelled_for_reason(evidence) and known.were_known(evidence)

    def find_late_act(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if what has to be done before was not done when the ticket was cancelled."""
        act, change = self.outcome.act, self.cancellation(evidence)
        assert act is not None
        if change is None:
            return Mismatch(act.row_path, "done before the ticket was cancelled", "the ticket was not cancelled")
        if act.is_met(evidence, step=change.step):
            return None
        return Mismatch(act.row_path, "done before the ticket was cancelled", "not done by then", change.step)


class _NoApproval(_Declared):
    """Work without an approval."""

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        super().__init__(case, company, allowances=allowances_of(case))


class _OneApproval(_Declared, ApprovalRubric):
    """Work with one approval."""

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        (requests,) = checks_of(case, company).values()
        goals = () if case.must_refuse else case.outcome.goals
        allowances = [*allowances_of(case), *request_allowances(requests)]
        super().__init__(case, company, requests=requests, allowances=allowances, goals=goals)


class _SeveralApprovals(_Declared, SequentialApprovalRubric):
    """Work with several approvals in order."""

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        goals = () if case.must_refuse else case.outcome.goals
        stages = checks_of(case, company)
        super().__init__(case, company, stages=stages, allowances=allowances_of(case), goals=goals)


class CompletedWithoutApproval(_NoApproval, _Done):
    """Work that needs no approval is done. Scenarios subclass it to add checks of their own."""


class _PlainRefused(_NoApproval, _Refused):
    pass


class _OneDone(_OneApproval, _ApprovedWork):
    pass


class _OneRefused(_OneApproval, _Refused, RefusedOutcome):
    pass


class _SeveralDone(_SeveralApprovals, _ApprovedWork, SequentialCompletedOutcome):
    pass


class _SeveralRefused(_SeveralApprovals, _Refused, SequentialRefusedOutcome):
    pass


_RUBRICS: tuple[tuple[_RubricClass, _RubricClass], ...] = (
    (CompletedWithoutApproval, _PlainRefused),
    (_OneDone, _OneRefused),
    (_SeveralDone, _SeveralRefused),
)
"""The rubrics of work that is done and that is refused, by the number of approvals: none, one, several."""
