"""The rubric of budget transfers: parts ended, one request for the whole, booked on both lines after the yes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, request_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.ends import Ends, RequestCancelled, RequestWithdrawn
from companyos_gateway.rubrics.readings import constant
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.rubrics.workflow import Fulfilment, Refused, Workflow, plain_check
from companyos_gateway.scenarios.budget_transfer.case import TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company

PARTS_POINTS = 1.0
"""What the parts pay together."""


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a transfer, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    booked = {case.giver_id: case.giver_budget_cents, case.taker_id: case.taker_budget_cents}
    goals = [
        RecordGoal(record_id=line, fields={"budget_cents": budget}, do_fields_wait=True)
        for line, budget in booked.items()
    ]
    return _Transfer(case, company, goals).rubric()


class _PartsChecked(Workflow):
    """Both ends put an end to the parts."""

    def __init__(self, case: Case, company: Company, goals: Sequence[RecordGoal] = ()) -> None:
        requests, self.parts = _requests(case, company), _parts(case)
        allowances: list[Allowance] = [
            *entry_allowances(case),
            *request_allowances(requests),
            *self.parts.allowances(),
        ]
        super().__init__(case, company, requests=requests, allowances=allowances, goals=goals)
        self.case = case

    def own_checks(self) -> Iterable[Check]:
        if self.parts.ends:
            yield self.parts.check()

    def own_milestones(self) -> Iterable[Milestone]:
        if self.parts.ends:
            yield from self.parts.milestones(round(PARTS_POINTS / len(self.parts.ends), 3))

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        yield from super().own_damage(evidence)
        yield from self.parts.damage(evidence)


class _Transfer(_PartsChecked, Fulfilment):
    """The transfer may be done."""

    def own_checks(self) -> Iterable[Check]:
        yield from super().own_checks()
        if self.parts.ends:
            yield plain_check("parts_ended_first", self.were_parts_ended_first)

    def were_parts_ended_first(self, evidence: Evidence) -> bool:
        """Say whether every part had come to its end when the whole was asked for."""
        request = self.approved(evidence)
        if request is None:
            return False
        submitted = evidence.row_changes(facts.APPROVALFLOW, "requests", request.id)[0]
        return self.parts.are_met(evidence, step=submitted.step)


class _Refusal(_PartsChecked, Refused):
    """The policy does not let it be done."""

    def own_checks(self) -> Iterable[Check]:
        yield from super().own_checks()
        yield plain_check("ground_read", self.was_ground_read)

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at the line that gives, and at both where they do not fit, before."""
        change, case = self.tickets.end(evidence, "cancelled"), self.case
        if change is None:
            return False
        lines = [case.giver_id, case.taker_id] if case.ground is RefusalGround.MIXED else [case.giver_id]
        return all(
            was_looked_at(evidence, facts.DATAHUB, "get_record", before_step=change.step, record_id=line)
            for line in lines
        )


def _parts(case: Case) -> Ends:
    withdrawn = [RequestWithdrawn(one) for one in case.own_parts]
    return Ends("parts_ended", [*withdrawn, *(RequestCancelled(one, case.parts_reason) for one in case.others_parts)])


def _requests(case: Case, company: Company) -> RequestRules:
    return RequestRules(
        requester_id=case.agent_id,
        subject=case.ticket_key,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, case.role, case.amount_cents),
        records={
            "from_line": constant(case.giver_id),
            "to_line": constant(case.taker_id),
            "amount_cents": constant(case.amount_cents),
        },
    )
