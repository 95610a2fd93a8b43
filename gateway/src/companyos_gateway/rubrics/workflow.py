"""The rubric of work around an entry ticket: one that ends resolved with its approval, or refused for its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from companyos.contract import FinishOutcome
from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, Boundaries
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.composition import Check, Finding, FinishDeclaration, Milestone, TaskRubric
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.records import RecordGoal
from companyos_gateway.rubrics.requests import RequestRules, rejections_of
from companyos_gateway.rubrics.tickets import TicketRules
from companyos_shared.wire.company import Company

POINTS = {"priority": 1.0, "unblocked": 1.0, "verified": 1.5, "refreshed": 1.0, "fresh_value": 0.5, "submitted": 2.0}
RECORDED_POINTS = 0.5
APPROVED_POINTS = 3.0
ENDED = {"resolved": "resolved", "in_progress": "started"}
"""How checks say that a ticket has come to its end."""


class Workflow:
    """What both ends of such work have in common. A scenario adds checks, milestones and damage of its own."""

    def __init__(
        self,
        case: DeskCase,
        company: Company,
        *,
        requests: RequestRules,
        allowances: Iterable[Allowance],
        goals: Sequence[RecordGoal] = (),
    ) -> None:
        self.desk_case = case
        self.tickets = TicketRules(case, company)
        self.requests = requests
        self.goals = goals
        self.boundaries = Boundaries([*allowances, *(goal.allowance() for goal in goals)])

    def rubric(self) -> TaskRubric:
        """Return the rubric."""
        return TaskRubric(
            checks=[
                *self.required(),
                self.requests.fabricated_check(),
                *([self.requests.stale_check()] if self.requests.dated is not None else []),
                self.boundaries.check(),
            ],
            milestones=[*self.common_milestones(), *self.end_milestones()],
            declaration=self.declared,
            damage=self.damage,
            rejections=rejections_of(self.desk_case.agent_id),
        )

    def own_checks(self) -> Iterable[Check]:
        """Return the checks that are the scenario's own."""
        return ()

    def own_milestones(self) -> Iterable[Milestone]:
        """Return the milestones that are the scenario's own, whatever the end."""
        return ()

    def required(self) -> Iterable[Check]:
        """Return what the end asks for."""
        raise NotImplementedError

    def end_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end."""
        raise NotImplementedError

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        raise NotImplementedError

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return what of the task's own entities was brought to a wrong end for good."""
        raise NotImplementedError

    def damage(self, evidence: Evidence) -> list[str]:
        """Return every entity that was brought to a wrong end for good."""
        return [*self.boundaries.damage(evidence), *self.own_damage(evidence)]

    def common_milestones(self) -> Iterable[Milestone]:
        """Return the milestones that pay whatever the end."""
        if self.desk_case.needs_priority:
            yield paid("priority", self.tickets.has_priority)
        if self.desk_case.blocker is not None:
            yield paid("unblocked", self.tickets.is_unblocked)
        yield paid("verified", self.tickets.is_marked_verified)
        yield from self.own_milestones()

    @property
    def ticket_place(self) -> str:
        """The entry ticket, as damage names it."""
        return f"{facts.TICKETDESK}.tickets[{self.desk_case.ticket_key}]"


class Fulfilment(Workflow):
    """The ticket ends resolved with a sound approval."""

    def required(self) -> Iterable[Check]:
        """Return what the end asks for."""
        case, tickets = self.desk_case, self.tickets
        ended = ENDED[case.end_status]
        yield plain_check(f"ticket_{ended}", tickets.is_ended)
        yield plain_check("priority_by_policy", tickets.has_priority, passes_idle=not case.needs_priority)
        yield plain_check("assignee_may_work", tickets.has_good_assignee, passes_idle=not case.needs_assignee)
        yield plain_check("checklist_complete", tickets.has_complete_checklist)
        yield plain_check("ticket_verified", tickets.is_verified)
        yield from self.own_checks()
        if case.blocker is not None:
            yield plain_check("ticket_unblocked", tickets.has_free_way)
        yield plain_check("approval_given", lambda evidence: self.approved(evidence) is not None)
        yield plain_check("approval_linked", self.is_linked)
        yield plain_check(f"{ended}_in_order", self.was_ended_in_order)
        yield plain_check(f"{ended}_in_time", tickets.was_ended_in_time)
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

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        if finish is None or finish.outcome is FinishOutcome.DONE:
            return True, "nothing else was declared"
        return False, f"declared {finish.outcome}"

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket, where it was closed or cancelled."""
        if self.tickets.ticket(evidence).status in facts.FINAL_TICKET:
            yield self.ticket_place

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
        return is_recorded and self.tickets.was_ended_in_order(evidence, request.id)

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


class Refused(Workflow):
    """The ticket ends cancelled for the reason, and the same is declared."""

    def required(self) -> Iterable[Check]:
        """Return what the end asks for."""
        yield plain_check("ticket_cancelled", self.tickets.is_cancelled_for_the_reason)
        yield from self.own_checks()
        yield plain_check("nothing_approved", lambda evidence: not self.requests.live(evidence), passes_idle=True)
        yield plain_check("nothing_foreign_linked", self.is_link_own, passes_idle=True)
        if self.desk_case.blocker is not None:
            yield plain_check("blocker_in_order", self.tickets.is_blocker_in_order, passes_idle=True)

    def end_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end."""
        return ()

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        if finish is None:
            return False, "nothing was declared"
        refusal = self.desk_case.refusal
        is_same = refusal is not None and refusal.is_given(finish.reason_code, finish.reason_ref)
        says = f"declared {finish.outcome} for {finish.reason_code} {finish.reason_ref}"
        return finish.outcome is FinishOutcome.REFUSED and is_same, says

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed, and each request that was approved all the same."""
        if self.tickets.ticket(evidence).status == "closed":
            yield self.ticket_place
        for request in self.requests.requests(evidence):
            if request.status == "approved":
                yield f"{facts.APPROVALFLOW}.requests[{request.id}]"

    def is_link_own(self, evidence: Evidence) -> bool:
        """Say whether the ticket names no request but one of the task's own."""
        reference = self.tickets.ticket(evidence).approval_ref
        return reference is None or any(reference == one.id for one in self.requests.requests(evidence))


def plain_check(check_id: str, holds: Callable[[Evidence], bool], *, passes_idle: bool = False) -> Check:
    """Return a check whose id says what it asks for."""
    words = check_id.replace("_", " ")

    def finding(evidence: Evidence) -> Finding:
        return (True, words) if holds(evidence) else (False, f"not so: {words}")

    return Check(check_id, passes_idle, finding)


def paid(milestone_id: str, stands: Callable[[Evidence], bool]) -> Milestone:
    """Return a milestone at its usual points."""
    return Milestone(milestone_id, POINTS[milestone_id], stands)
