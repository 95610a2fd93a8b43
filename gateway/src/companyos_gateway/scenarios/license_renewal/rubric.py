"""The rubric of licence renewals: days left fresh, size and term by the policy, the record renewed after the yes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.evaluation import Check, Milestone, TaskRubric
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.approval_rubric import (
    ApprovalRubric,
    CompletedOutcome,
    RefusedOutcome,
)
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.facts import record_shown, vendor_status_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.milestones import milestone
from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a renewal, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    goal = RecordGoal(
        record_id=case.licence_id,
        state="renewed",
        ends_on=case.new_end.isoformat(),
        fields={"seats": case.seats},
    )
    return _Renewal(case, company, [goal]).rubric()


class _DaysChecked(ApprovalRubric):
    """Both ends have looked at how many days are left."""

    def __init__(self, case: Case, company: Company, goals: Sequence[RecordGoal] = ()) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests), goals=goals)
        self.case = case
        self.days_left = MetricChecks(case.days_left)

    def scenario_milestones(self) -> Iterable[Milestone]:
        if self.case.days_left.is_stale:
            yield milestone("refreshed", self.days_left.is_refreshed)


class _Renewal(_DaysChecked, CompletedOutcome):
    """The licence may be renewed."""

    def scenario_checks(self) -> Iterable[Check]:
        if self.case.days_left.is_stale:
            yield self.days_left.refreshed_check("days_left_refreshed")


class _Refusal(_DaysChecked, RefusedOutcome):
    """The policy does not let it be renewed."""

    def scenario_checks(self) -> Iterable[Check]:
        case = self.case
        if case.ground is RefusalGround.TOO_EARLY:
            yield self.facts_check("days_left_known", self.days_left.fact(lambda left: left > case.window_days))
        elif case.ground is RefusalGround.SUSPENDED:
            yield self.facts_check("ground_read", vendor_status_shown(case.vendor_id))
        else:
            yield self.facts_check("ground_read", record_shown(case.licence_id))


def _requests(case: Case, company: Company) -> RequestChecks:
    days_left = MetricChecks(case.days_left)
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.licence_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.amount_cents),
        sources={
            "licence_id": constant_source(case.licence_id),
            "seats": constant_source(case.seats),
            "amount_cents": constant_source(case.amount_cents),
            "new_end": constant_source(case.new_end.isoformat()),
            METRIC_KEY: days_left.value_source(),
            "days_left_as_of": days_left.timestamp_source(),
        },
        timestamp_field="days_left_as_of",
        max_age=case.days_left.max_age,
    )


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    metrics = [case.days_left.metric_id, *case.days_left.other_metric_ids]
    yield from ticket_allowances(case)
    yield from metric_allowances(metrics)
    subjects = [case.licence_id, case.vendor_id, case.days_left.source_id, *metrics]
    yield from issue_allowances(subjects, case.refusal)
    yield from request_allowances(requests)
