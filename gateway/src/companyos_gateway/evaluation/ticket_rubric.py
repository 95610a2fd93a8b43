"""The rubric of work around an entry ticket: what every end of it has in common, and the ends that need no approval."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.change_policy import Allowance, ChangePolicy
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.rubric import Check, Finding, FinishDeclaration, Milestone, TaskRubric
from companyos_gateway.evaluation.ticket_checks import TicketChecks
from companyos_shared.wire.company import Company

POINTS = {"priority": 1.0, "unblocked": 1.0, "verified": 1.5, "refreshed": 1.0, "fresh_value": 0.5, "submitted": 2.0}
END_STATUS_WORDS = {"resolved": "resolved", "in_progress": "started"}
"""How checks say that a ticket has come to its end."""


class TicketRubric:
    """Rubric base for ticket work; scenarios add checks, milestones and damage."""

    def __init__(self, case: TicketCase, company: Company, *, allowances: Iterable[Allowance]) -> None:
        self.ticket_case = case
        self.tickets = TicketChecks(case, company)
        self.change_policy = ChangePolicy(allowances)

    def rubric(self) -> TaskRubric:
        """Return the rubric."""
        return TaskRubric(
            checks=[
                *self.required_checks(),
                *self.forbidden_checks(),
                self.change_policy.check(),
                guessing_check(),
            ],
            milestones=[*self.common_milestones(), *self.outcome_milestones()],
            declaration=self.check_declaration,
            damage=self.damage,
            rejections=rejections_of(self.ticket_case.agent_id),
            is_closed=self.tickets.is_closed,
        )

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks that are the scenario's own."""
        return ()

    def scenario_milestones(self) -> Iterable[Milestone]:
        """Return the milestones that are the scenario's own, whatever the end."""
        return ()

    def required_checks(self) -> Iterable[Check]:
        """Return what the end asks for."""
        raise NotImplementedError

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks on what must not happen on the way, apart from changes elsewhere."""
        return ()

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end."""
        return ()

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        raise NotImplementedError

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return what of the task's own entities was brought to a wrong end for good."""
        raise NotImplementedError

    def damage(self, evidence: Evidence) -> list[str]:
        """Return every entity that was brought to a wrong end for good."""
        return [*self.change_policy.damage(evidence), *self.task_damage(evidence)]

    def common_milestones(self) -> Iterable[Milestone]:
        """Return the milestones that pay whatever the end."""
        if self.ticket_case.needs_priority:
            yield standard_milestone("priority", self.tickets.has_priority)
        if self.ticket_case.blocker is not None:
            yield standard_milestone("unblocked", self.tickets.is_unblocked)
        yield standard_milestone("verified", self.tickets.is_marked_verified)
        yield from self.scenario_milestones()

    @property
    def ticket_path(self) -> str:
        """The entry ticket, as damage names it."""
        return f"{row_views.TICKETDESK}.tickets[{self.ticket_case.ticket_key}]"


class TicketCompletedOutcome(TicketRubric):
    """The ticket ends where work that is done ends, complete and in time."""

    def required_checks(self) -> Iterable[Check]:
        """Return what the end asks for."""
        case, tickets = self.ticket_case, self.tickets
        ended = END_STATUS_WORDS[case.end_status]
        yield predicate_check(f"ticket_{ended}", tickets.is_completed)
        yield predicate_check("priority_by_policy", tickets.has_priority, passes_idle=not case.needs_priority)
        yield predicate_check("assignee_may_work", tickets.has_valid_assignee, passes_idle=not case.needs_assignee)
        yield predicate_check("checklist_complete", tickets.has_complete_checklist)
        yield predicate_check("ticket_verified", tickets.is_verified)
        yield from self.scenario_checks()
        if case.blocker is not None:
            yield predicate_check("ticket_unblocked", tickets.is_blocker_resolved)
        yield from self.approval_checks()
        yield predicate_check(f"{ended}_in_order", self.was_ended_in_order)
        yield predicate_check(f"{ended}_in_time", tickets.was_ended_in_time)

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on what had to be granted: nothing, and so nothing is linked."""
        yield predicate_check("no_approval_linked", self.has_no_approval, passes_idle=True)

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        if finish is None or finish.outcome is FinishOutcome.DONE:
            return True, "nothing else was declared"
        return False, f"declared {finish.outcome}"

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket, where it was closed or cancelled."""
        if self.tickets.ticket(evidence).status in row_views.FINAL_TICKET_STATUSES:
            yield self.ticket_path

    def has_no_approval(self, evidence: Evidence) -> bool:
        """Say whether the ticket names no approval."""
        return self.tickets.ticket(evidence).approval_ref is None

    def was_work_complete(self, evidence: Evidence, step: int) -> bool:
        """Say whether all that the ticket is about was done once a step had been taken."""
        return True

    def was_ended_in_order(self, evidence: Evidence) -> bool:
        """Say whether everything was in place when the ticket was ended."""
        change = self.tickets.completion_change(evidence)
        if change is None or not self.tickets.was_complete_when_ended(evidence):
            return False
        return self.was_work_complete(evidence, change.step)


class TicketRefusedOutcome(TicketRubric):
    """The ticket ends cancelled for the reason, and the same is declared."""

    def required_checks(self) -> Iterable[Check]:
        """Return what the end asks for."""
        yield predicate_check("ticket_cancelled", self.tickets.is_cancelled_for_reason)
        yield from self.scenario_checks()
        yield from self.approval_checks()
        yield predicate_check("nothing_foreign_linked", self.has_no_foreign_link, passes_idle=True)
        if self.ticket_case.blocker is not None:
            yield predicate_check("blocker_in_order", self.tickets.is_blocker_valid, passes_idle=True)

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on what must not have been granted."""
        return ()

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        """Judge what the agent declares."""
        if finish is None:
            return False, "nothing was declared"
        refusal = self.ticket_case.refusal
        is_same = refusal is not None and refusal.matches(finish.reason_code, finish.reason_ref)
        detail = f"declared {finish.outcome} for {finish.reason}"
        return finish.outcome is FinishOutcome.REFUSED and is_same, detail

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed."""
        if self.tickets.ticket(evidence).status == "closed":
            yield self.ticket_path

    def has_no_foreign_link(self, evidence: Evidence) -> bool:
        """Say whether the ticket names no approval, or one of the task's own requests."""
        return self.tickets.ticket(evidence).approval_ref is None


def predicate_check(check_id: str, predicate: Callable[[Evidence], bool], *, passes_idle: bool = False) -> Check:
    """Return a check whose id says what it asks for."""
    words = check_id.replace("_", " ")

    def finding(evidence: Evidence) -> Finding:
        return (True, words) if predicate(evidence) else (False, f"not so: {words}")

    return Check(check_id, passes_idle, finding)


def standard_milestone(milestone_id: str, is_reached: Callable[[Evidence], bool]) -> Milestone:
    """Return a milestone at its usual points."""
    return Milestone(milestone_id, POINTS[milestone_id], is_reached)
