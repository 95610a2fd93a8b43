"""The rubric of licence renewals: days left fresh, size and term by the policy, the record renewed after the yes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.allowances import (
    entry_allowances,
    issue_allowances,
    metric_allowances,
    request_allowances,
)
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.readings import ReadingRules, constant
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.rubrics.workflow import Fulfilment, Refused, Workflow, paid, plain_check
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


class _DaysChecked(Workflow):
    """Both ends have looked at how many days are left."""

    def __init__(self, case: Case, company: Company, goals: Sequence[RecordGoal] = ()) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests), goals=goals)
        self.case = case
        self.days_left = ReadingRules(case.days_left)

    def own_milestones(self) -> Iterable[Milestone]:
        if self.case.days_left.is_stale:
            yield paid("refreshed", self.days_left.is_refreshed)


class _Renewal(_DaysChecked, Fulfilment):
    """The licence may be renewed."""

    def own_checks(self) -> Iterable[Check]:
        if self.case.days_left.is_stale:
            yield plain_check("days_left_refreshed", self.days_left.is_refreshed)


class _Refusal(_DaysChecked, Refused):
    """The policy does not let it be renewed."""

    def own_checks(self) -> Iterable[Check]:
        if self.case.ground is RefusalGround.TOO_EARLY:
            yield plain_check("days_left_known", self.were_days_known)
        else:
            yield plain_check("ground_read", self.was_ground_read)

    def were_days_known(self, evidence: Evidence) -> bool:
        """Say whether the days left were fresh and beyond the window at the step at which the ticket was cancelled."""
        left = self.days_left.known_at(evidence, self.tickets.end(evidence, "cancelled"))
        return left is not None and left > self.case.window_days

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at the vendor or the licence before it refused."""
        change = self.tickets.end(evidence, "cancelled")
        if change is None:
            return False
        if self.case.ground is RefusalGround.SUSPENDED:
            wanted = {"vendor_id": self.case.vendor_id}
            return was_looked_at(evidence, facts.DATAHUB, "get_vendor", before_step=change.step, **wanted)
        wanted = {"record_id": self.case.licence_id}
        return was_looked_at(evidence, facts.DATAHUB, "get_record", before_step=change.step, **wanted)


def _requests(case: Case, company: Company) -> RequestRules:
    days_left = ReadingRules(case.days_left)
    return RequestRules(
        requester_id=case.agent_id,
        subject=case.licence_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, case.role, case.amount_cents),
        records={
            "licence_id": constant(case.licence_id),
            "seats": constant(case.seats),
            "amount_cents": constant(case.amount_cents),
            "new_end": constant(case.new_end.isoformat()),
            METRIC_KEY: days_left.value_record(),
            "days_left_as_of": days_left.date_record(),
        },
        dated="days_left_as_of",
        max_age=case.days_left.max_age,
    )


def _allowances(case: Case, requests: RequestRules) -> Iterable[Allowance]:
    metrics = [case.days_left.metric_id, *case.days_left.other_metric_ids]
    yield from entry_allowances(case)
    yield from metric_allowances(metrics)
    subjects = [case.licence_id, case.vendor_id, case.days_left.source_id, *metrics]
    yield from issue_allowances(subjects, case.refusal)
    yield from request_allowances(requests)
