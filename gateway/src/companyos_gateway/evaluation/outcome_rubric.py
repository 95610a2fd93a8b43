"""The rubrics derived from a declared outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.answers import Answer, find_wrong_answer
from companyos_gateway.evaluation.approval_requests import RequestChecks
from companyos_gateway.evaluation.approval_stages import ApprovalStages
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    comment_allowances,
    issue_allowances,
    metric_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import Moment, RequiredFacts, declaration_of
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.milestones import Milestone, milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, format_value, one_of
from companyos_gateway.evaluation.outcome import DeclaredCase, Outcome
from companyos_gateway.evaluation.rubric import DECLARATION, DECLARED_CHECK_ID, Check, FinishDeclaration
from companyos_gateway.evaluation.ticket_checks import TicketChecks
from companyos_gateway.evaluation.ticket_rubric import TicketRubric, check_done
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change

END_STATUS_WORDS = {"resolved": "resolved", "in_progress": "started"}
"""Words for the end statuses in the ids of checks."""


def outcome_rubric(case: DeclaredCase, company: Company) -> TicketRubric:
    """Return the rubric of a task: of a report or of other work, done or refused."""
    case = replace(case, outcome=case.outcome.with_escalations(company))
    if case.outcome.answers:
        return (ReportRefusedOutcome if case.must_refuse else ReportOutcome)(case, company)
    return (RefusedOutcome if case.must_refuse else CompletedOutcome)(case, company)


def checks_of(case: DeclaredCase, company: Company) -> dict[str, RequestChecks]:
    """Return the checks of the required requests, by type."""
    found: dict[str, RequestChecks] = {}
    for request in case.outcome.requests:
        found[request.type_key] = request.checks(case, company, found)
    return found


def allowances_of(case: DeclaredCase) -> Iterable[Allowance]:
    """Return the allowances of a task except those for its requests and goals."""
    outcome = case.outcome
    metrics = [name for one in outcome.metrics for name in (one.metric_id, *one.other_metric_ids)]
    sources = [one.source_id for one in outcome.metrics]
    yield from comment_allowances(case) if outcome.answers else ticket_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([*outcome.subjects, *sources, *metrics], case.refusal)
    for one in outcome.prepared:
        yield from one.allowances()
    if outcome.act is not None:
        yield from outcome.act.allowances()
    yield from outcome.allowances


class OutcomeRubric(TicketRubric):
    """Base of all outcomes: approvals, metrics to refresh, entities to settle, and damage."""

    ticket_case: DeclaredCase

    def __init__(self, case: DeclaredCase, company: Company) -> None:
        goals, tickets = () if case.must_refuse else case.outcome.goals, TicketChecks(case, company)
        self.approvals = ApprovalStages(checks_of(case, company), goals, tickets)
        super().__init__(case, tickets, allowances=[*allowances_of(case), *self.approvals.allowances()])

    @property
    def outcome(self) -> Outcome:
        """The declared outcome."""
        return self.ticket_case.outcome

    @property
    def stale_metrics(self) -> dict[str, MetricChecks]:
        """The metrics that must be refreshed, by key; further metrics with the same key are numbered."""
        stale = [MetricChecks(one) for one in self.outcome.metrics if one.is_stale]
        keys = [one.spec.key for one in stale]
        names = [
            f"{key}_{keys[:place].count(key) + 1}" if key in keys[:place] else key for place, key in enumerate(keys)
        ]
        return dict(zip(names, stale, strict=True))

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request of the agent belongs to the task and is valid."""
        return self.approvals.is_valid_request(evidence, request)

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks that no request ever contained wrong or stale values."""
        return self.approvals.forbidden_checks()

    def scenario_checks(self) -> Iterable[Check]:
        """Return a check for each kind of entity that must be settled."""
        return [one.check() for one in self.outcome.prepared]

    def common_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of every outcome, with one for each refresh and each settled entity."""
        if not self.outcome.answers:
            yield from super().common_milestones()
        stale = {f"refreshed_{name}": one.is_refreshed for name, one in self.stale_metrics.items()}
        settled = {name: part for one in self.outcome.prepared for name, part in one.parts()}
        yield from shared_milestones("figures_refreshed" if self.outcome.answers else "refreshed", stale)
        yield from shared_milestones("prepared" if self.outcome.requests else "entities", settled)

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the irreversibly damaged entities of the task, and each request that was approved nevertheless."""
        yield from super().task_damage(evidence)
        if self.ticket_case.must_refuse:
            yield from self.approvals.damage(evidence)
        yield from self.outcome.forbidden(evidence)
        for one in self.outcome.prepared:
            yield from one.damage(evidence)


class CompletedOutcome(OutcomeRubric):
    """Outcome: the work is complete, with every approval that it needs, and the ticket was ended in time.

    Scenarios subclass it to add their own checks.
    """

    damaging_statuses = row_views.FINAL_TICKET_STATUSES

    def required_checks(self) -> Iterable[Check]:
        """Return the required checks of the outcome. The ticket must be ended after everything else is done."""
        case, tickets = self.ticket_case, self.tickets
        ended = END_STATUS_WORDS[case.end_status]
        work = [*self._work_checks(), *self.forbidden_checks()]
        causes = (*(check.id for check in work), DECLARED_CHECK_ID)
        yield Check(f"ticket_{ended}", False, lambda one: tickets.mismatch(one, status=case.end_status), causes)
        yield from self._work_checks()
        yield Check(f"{ended}_in_order", False, self.find_disorder, (*causes, f"ticket_{ended}"))
        yield Check(f"{ended}_in_time", False, tickets.find_late_end, (*causes, f"ticket_{ended}"))

    def _work_checks(self) -> Iterable[Check]:
        case, tickets = self.ticket_case, self.tickets
        yield Check(
            "priority_by_policy", not case.needs_priority, lambda one: tickets.mismatch(one, priority=case.priority)
        )
        yield Check(
            "assignee_may_work",
            not case.needs_assignee,
            lambda one: tickets.mismatch(one, assignee_id=case.assignee_ids),
        )
        yield Check("checklist_complete", False, tickets.find_undone)
        yield Check("ticket_verified", False, tickets.find_unverified)
        yield from self.scenario_checks()
        if case.blocker is not None:
            yield Check("ticket_unblocked", False, tickets.find_blocker)
        if self.outcome.requests:
            yield from self.approvals.given_checks()
        else:
            yield Check("no_approval_linked", True, lambda one: tickets.mismatch(one, approval_ref=None))

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks on fresh metrics, and on what was known and settled before the request was made."""
        for name, metric in self.stale_metrics.items():
            yield metric.refreshed_check(f"{name}_refreshed")
        yield from super().scenario_checks()
        outcome = self.outcome
        if outcome.requests and outcome.examined:
            known = RequiredFacts(outcome.examined, self.approvals.first_submission, "the request was submitted")
            yield known.check(caused_by=("approval_given",))
        if outcome.requests and outcome.prepared:
            yield self.approvals.settled_check(outcome.prepared)

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of the approvals."""
        return self.approvals.milestones() if self.outcome.requests else ()

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        """Return a mismatch if the agent declared an outcome other than `done`."""
        return check_done(evidence, finish)

    def find_disorder(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if a requirement was not met when the ticket was ended."""
        change = self.tickets.completion_change(evidence)
        missing = ["end status"] if change is None else self.missing_when_ended(evidence, change)
        if not missing:
            return None
        expected = f"all work done before the status {self.ticket_case.end_status}"
        step = None if change is None else change.step
        return Mismatch(self.tickets.row_path, expected, f"missing or wrong: {', '.join(missing)}", step)

    def missing_when_ended(self, evidence: Evidence, change: Change) -> list[str]:
        """Return the requirements that were not met when the ticket was ended."""
        missing = [
            *self.tickets.missing_when_ended(evidence, change),
            *self.find_unfinished_work(evidence, change.step),
        ]
        if not self.outcome.requests:
            return missing
        request = self.approvals.final_request(evidence)
        if request is None:
            return ["approval", *missing]
        return [*missing, *self.approvals.missing_when_ended(evidence, change, request.id)]

    def find_unfinished_work(self, evidence: Evidence, step: int) -> list[str]:
        """Return the entities that were not settled as of a step."""
        return [path for one in self.outcome.prepared for path in one.unmet(evidence, step=step)]


class _Refusal(OutcomeRubric):
    """Base of refusals: the facts were known before the act or the refusal, and the act, if any, is done."""

    refused_by: tuple[str, ...] = ()
    """Ids of the checks on the refusal itself."""

    def refused_at(self, evidence: Evidence) -> Moment | None:
        """Return the moment of the refusal, None if there is none."""
        raise NotImplementedError

    @property
    def knowledge(self) -> RequiredFacts:
        """The facts that must be known before the act, or before the refusal if there is no act."""
        act = self.outcome.act
        return RequiredFacts(self.outcome.facts, self.refused_at if act is None else act.change, "the agent decided")

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks on the act and the deciding facts."""
        yield from super().scenario_checks()
        act = self.outcome.act
        if act is not None:
            yield Check(act.check_id, False, act.mismatch)
        yield self.knowledge.check(caused_by=self.refused_by if act is None else (act.check_id,))

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestone of the act."""
        if self.outcome.act is not None:
            yield milestone(self.outcome.act.milestone, self.has_acted)

    def has_acted(self, evidence: Evidence) -> bool:
        """Return whether the act is done and the agent knew the facts when it decided."""
        act = self.outcome.act
        return act is not None and act.is_met(evidence) and self.knowledge.were_known(evidence)


class RefusedOutcome(_Refusal):
    """Outcome: the ticket is cancelled for the reason with nothing approved, and `finish` declares the refusal."""

    declared_caused_by = refused_by = ("ticket_cancelled",)
    damaging_statuses = frozenset({"closed"})

    def refused_at(self, evidence: Evidence) -> Moment | None:
        """Return the change that cancelled the ticket."""
        return self.cancellation(evidence)

    def required_checks(self) -> Iterable[Check]:
        """Return the required checks of the outcome."""
        approvals = list(self.approvals.refused_checks())
        causes = tuple(check.id for check in approvals)
        yield Check("ticket_cancelled", False, self.tickets.find_not_cancelled, causes)
        yield from self.scenario_checks()
        yield from approvals
        yield Check("nothing_foreign_linked", True, self.find_foreign_link, causes)
        if self.ticket_case.blocker is not None:
            yield Check("blocker_in_order", True, self.tickets.find_changed_blocker)

    def scenario_checks(self) -> Iterable[Check]:
        """Return the check that the act was done before the ticket was cancelled."""
        yield from super().scenario_checks()
        act = self.outcome.act
        if act is not None:
            yield Check("done_before_cancelled", False, self.find_late_act, ("ticket_cancelled", act.check_id))

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of the act and of the refusal itself."""
        yield from super().outcome_milestones()
        if self.outcome.declined is not None:
            yield milestone(self.outcome.declined, self.was_declined)

    def was_declined(self, evidence: Evidence) -> bool:
        """Return whether the ticket is cancelled for the reason, and the agent knew the facts behind it."""
        known = RequiredFacts(self.outcome.facts, self.cancellation)
        return self.tickets.is_cancelled_for_reason(evidence) and known.were_known(evidence)

    def find_late_act(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the act was not done when the ticket was cancelled."""
        act, change = self.outcome.act, self.cancellation(evidence)
        assert act is not None
        if change is None:
            return Mismatch(act.row_path, "done before the ticket was cancelled", "the ticket was not cancelled")
        if act.is_met(evidence, step=change.step):
            return None
        return Mismatch(act.row_path, "done before the ticket was cancelled", "not done by then", change.step)

    def find_foreign_link(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket references an approval other than the task's own requests."""
        return self.tickets.mismatch(evidence, approval_ref=(None, *self.approvals.request_ids(evidence)))

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        """Return a mismatch if the agent did not declare the refusal with its reason."""
        refusal = self.ticket_case.refusal
        assert refusal is not None
        is_refused = finish is not None and finish.outcome is FinishOutcome.REFUSED
        if finish is not None and is_refused and refusal.matches(finish.reason_code, finish.reason_ref):
            return None
        expected = f"outcome: refused, {refusal.code} {one_of(refusal.references)}"
        found = "nothing declared" if finish is None else f"outcome: {finish.outcome}, {finish.reason}"
        return Mismatch(DECLARATION, expected, found)


class _Report(OutcomeRubric):
    """Base of reports: `finish` is the closing act, and the ticket stays unchanged."""

    def is_closed(self, evidence: Evidence) -> bool:
        """Return False: only `finish` closes a report."""
        return False

    def required_checks(self) -> Iterable[Check]:
        """Return the checks on settled entities and on the deciding facts."""
        return self.scenario_checks()


class ReportOutcome(_Report):
    """Outcome: the answers are declared."""

    declared_caused_by = ("facts_known",)

    @property
    def knowledge(self) -> RequiredFacts:
        """The values of the metrics and the other facts that must be known when the answers are declared."""
        metrics = [MetricChecks(one).fact() for one in self.outcome.metrics]
        return RequiredFacts((*metrics, *self.outcome.facts), declaration_of, "the answers were declared")

    def scenario_checks(self) -> Iterable[Check]:
        """Return the check that the facts were known when the answers were declared."""
        yield from super().scenario_checks()
        yield self.knowledge.check(caused_by=())

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        """Return a mismatch unless the right answers are declared in time and the facts were known."""
        if finish is None or finish.outcome is not FinishOutcome.DONE:
            found = "nothing declared" if finish is None else f"outcome: {finish.outcome}"
            return Mismatch(DECLARATION, "outcome: done, with the answers", found)
        at, due_at = evidence.declared_at, self.ticket_case.due_at(self.tickets.company)
        if at is None or at > due_at:
            return Mismatch(DECLARATION, f"declared by {due_at.isoformat()}", format_value(at))
        return self.knowledge.find_mismatch(evidence) or find_wrong_answer(self.answers(evidence), finish.answers)

    def answers(self, evidence: Evidence) -> dict[str, Answer]:
        """Return the right answers; every metric must have a value."""
        values = [value for one in self.outcome.metrics if (value := MetricChecks(one).value_at(evidence)) is not None]
        return {name: rule(values) for name, rule in self.outcome.answers.items()}


class ReportRefusedOutcome(_Report, _Refusal):
    """Outcome: the report cannot be created, and `finish` declares the reason."""

    def refused_at(self, evidence: Evidence) -> Moment | None:
        """Return the moment of the declaration."""
        return declaration_of(evidence)

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        """Return a mismatch unless the reason is declared, without answers."""
        refusal = self.ticket_case.refusal
        assert refusal is not None
        expected = f"outcome: impossible, {refusal.code} {one_of(refusal.references)}, without answers"
        if finish is None:
            return Mismatch(DECLARATION, expected, "nothing declared")
        is_impossible = finish.outcome is FinishOutcome.IMPOSSIBLE and not finish.answers
        if is_impossible and refusal.matches(finish.reason_code, finish.reason_ref):
            return None
        answers = ", with answers" if finish.answers else ""
        return Mismatch(DECLARATION, expected, f"outcome: {finish.outcome}, {finish.reason}{answers}")
