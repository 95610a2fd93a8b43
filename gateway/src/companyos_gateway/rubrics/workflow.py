"""The rubric of work that needs an approval: it ends resolved with a sound one, or refused with none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.composition import Check, Milestone
from companyos_gateway.rubrics.deskwork import POINTS, Declined, DeskWork, Done, paid, plain_check
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.goals import Goal
from companyos_gateway.rubrics.requests import RequestRules
from companyos_shared.wire.company import Company

__all__ = ["APPROVED_POINTS", "POINTS", "Fulfilment", "Refused", "Workflow", "paid", "plain_check"]

RECORDED_POINTS = 0.5
APPROVED_POINTS = 3.0


class Workflow(DeskWork):
    """What both ends of such work have in common. A scenario adds checks, milestones and damage of its own."""

    def __init__(
        self,
        case: DeskCase,
        company: Company,
        *,
        requests: RequestRules,
        allowances: Iterable[Allowance],
        goals: Sequence[Goal] = (),
    ) -> None:
        super().__init__(case, company, allowances=[*allowances, *(goal.allowance() for goal in goals)])
        self.requests = requests
        self.goals = goals

    def forbidden(self) -> Iterable[Check]:
        """Return the checks on what no request may ever have said."""
        yield self.requests.fabricated_check()
        if self.requests.dated is not None:
            yield self.requests.stale_check()


class Fulfilment(Workflow, Done):
    """The ticket ends resolved with a sound approval."""

    def grant_checks(self) -> Iterable[Check]:
        """Return the checks on the approval, and on what follows from it."""
        yield plain_check("approval_given", lambda evidence: self.approved(evidence) is not None)
        yield plain_check("approval_linked", self.is_linked)
        if self.goals:
            yield plain_check("records_updated", self.has_records)
            yield plain_check("updated_after_approval", self.was_recorded_after_approval)
        yield plain_check("no_second_request", lambda one: len(self.requests.live(one)) <= 1, passes_idle=True)

    def end_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end."""
        if self.requests.dated is not None:
            yield paid("fresh_value", lambda one: any(self.is_fair(one, request) for request in self.live(one)))
        yield paid("submitted", lambda evidence: self.sound(evidence) is not None)
        yield Milestone("approved", APPROVED_POINTS, lambda evidence: self.approved(evidence) is not None)
        if self.goals and self.requests.dated is None:
            yield Milestone("recorded", RECORDED_POINTS, self.was_recorded_after_approval)

    def live(self, evidence: Evidence) -> list[facts.RequestFacts]:
        """Return the task's requests that stand."""
        return self.requests.live(evidence)

    def is_fair(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        """Say whether a request is truthful and its evidence fresh."""
        return self.requests.is_truthful(evidence, request.id) and self.requests.is_fresh(evidence, request.id)

    def sound(self, evidence: Evidence) -> facts.RequestFacts | None:
        """Return a request that stands and is sound."""
        live = self.live(evidence)
        return next((one for one in live if self.requests.is_sound(evidence, one)), None)

    def approved(self, evidence: Evidence) -> facts.RequestFacts | None:
        """Return a sound request that is approved."""
        request = self.sound(evidence)
        return request if request is not None and self.requests.is_approved(evidence, request) else None

    def is_linked(self, evidence: Evidence) -> bool:
        """Say whether the ticket names the approved request."""
        request, reference = self.approved(evidence), self.tickets.ticket(evidence).approval_ref
        return request is not None and reference == request.id

    def was_ended_in_order(self, evidence: Evidence) -> bool:
        """Say whether everything was in place when the ticket was ended."""
        request, change = self.approved(evidence), self.tickets.done(evidence)
        if request is None or change is None:
            return False
        is_recorded = all(goal.is_met(evidence, request.id, step=change.step) for goal in self.goals)
        in_order = is_recorded and self.tickets.was_ended_in_order(evidence, request.id)
        return in_order and self.was_in_place(evidence, change.step)

    def has_records(self, evidence: Evidence) -> bool:
        """Say whether every record of the task is as it must be."""
        request = self.approved(evidence)
        return request is not None and all(goal.is_met(evidence, request.id) for goal in self.goals)

    def was_recorded_after_approval(self, evidence: Evidence) -> bool:
        """Say whether every record is as it must be, and was brought there by the approval."""
        request = self.approved(evidence)
        if request is None or not self.has_records(evidence):
            return False
        return not any(goal.is_premature(evidence, request.id) for goal in self.goals)


class Refused(Workflow, Declined):
    """The ticket ends cancelled for the reason with nothing approved, and the same is declared."""

    def grant_checks(self) -> Iterable[Check]:
        """Return the checks on what must not have been granted."""
        yield plain_check("nothing_approved", lambda evidence: not self.requests.live(evidence), passes_idle=True)

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed, and each request that was approved all the same."""
        yield from super().own_damage(evidence)
        for request in self.requests.requests(evidence):
            if request.status == "approved":
                yield f"{facts.APPROVALFLOW}.requests[{request.id}]"

    def is_link_own(self, evidence: Evidence) -> bool:
        """Say whether the ticket names no request but one of the task's own."""
        reference = self.tickets.ticket(evidence).approval_ref
        return reference is None or any(reference == one.id for one in self.requests.requests(evidence))
