"""The rubric of work around an entry ticket, and of a ticket that turns out to be unnecessary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import rejections_of
from companyos_gateway.evaluation.cases import Refusal, TicketCase
from companyos_gateway.evaluation.change_policy import Allowance, ChangePolicy, taken_back_allowances
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import Fact, RequiredFacts
from companyos_gateway.evaluation.guessing import guessing_check
from companyos_gateway.evaluation.milestones import Milestone, milestone
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.evaluation.rubric import DECLARATION, Check, FinishDeclaration, TaskRubric
from companyos_gateway.evaluation.ticket_checks import TicketChecks
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change


def check_done(_evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
    """Return a mismatch if the agent declared an outcome other than `done`."""
    if finish is None or finish.outcome is FinishOutcome.DONE:
        return None
    return Mismatch(DECLARATION, "outcome: done", f"outcome: {finish.outcome}, {finish.reason}")


class TicketRubric:
    """Rubric base for ticket work; outcomes add checks, milestones and damage."""

    declared_caused_by: tuple[str, ...] = ()
    """Checks whose failure makes the declaration fail as well."""
    damaging_statuses: frozenset[str] = frozenset()
    """Statuses of the ticket that are irreversible damage."""

    def __init__(self, case: TicketCase, tickets: TicketChecks, *, allowances: Iterable[Allowance]) -> None:
        self.ticket_case = case
        self.tickets = tickets
        self.allowances = (*allowances, *taken_back_allowances(case.agent_id))
        self.change_policy = ChangePolicy(self.allowances)

    def rubric(self) -> TaskRubric:
        """Return the rubric."""
        return TaskRubric(
            checks=[
                *self.case_checks(),
                self.change_policy.check(),
                guessing_check(self.ticket_case.agent_id, self.is_valid_request),
            ],
            milestones=self.milestones(),
            declaration=self.check_declaration,
            damage=self.damage,
            rejections=rejections_of(self.ticket_case.agent_id),
            is_closed=self.is_closed,
            declared_caused_by=self.declared_caused_by,
        )

    def case_checks(self) -> Iterable[Check]:
        """Return the checks of the case itself, except those on changes elsewhere and on guessing."""
        yield from self.required_checks()
        yield from self.forbidden_checks()
        yield Check("checklist_known", True, self.tickets.find_unread)

    def milestones(self) -> list[Milestone]:
        """Return the milestones of the case."""
        return [*self.common_milestones(), *self.outcome_milestones()]

    def required_checks(self) -> Iterable[Check]:
        """Return the required checks of the outcome."""
        raise NotImplementedError

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks on forbidden actions, except changes elsewhere."""
        return ()

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of this outcome."""
        return ()

    def check_declaration(self, evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
        """Return the mismatch of the agent's declaration, None if it is right."""
        raise NotImplementedError

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request of the agent belongs to the task and is valid."""
        raise NotImplementedError

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the task's own entities that were irreversibly damaged."""
        if self.tickets.ticket(evidence).status in self.damaging_statuses:
            yield self.tickets.row_path

    def damage(self, evidence: Evidence) -> list[str]:
        """Return all entities that were irreversibly damaged."""
        return [*self.change_policy.damage(evidence), *self.task_damage(evidence)]

    def is_closed(self, evidence: Evidence) -> bool:
        """Return whether the agent has taken the closing act of the task."""
        return self.tickets.is_closed(evidence)

    def common_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of every outcome."""
        if self.ticket_case.needs_priority:
            yield milestone("priority", self.tickets.has_priority)
        if self.ticket_case.blocker is not None:
            yield milestone("unblocked", self.tickets.is_unblocked)
        yield milestone("verified", self.tickets.is_marked_verified)

    def cancellation(self, evidence: Evidence) -> Change | None:
        """Return the last change that cancelled the ticket, None if there is none."""
        return self.tickets.last_transition(evidence, "cancelled")


class WithdrawnOutcome(TicketRubric):
    """Outcome: an unnecessary ticket is cancelled for the reason, by an agent that knew the fact behind it.

    `work` is the rubric of the work that the ticket requires; its allowances apply, so work already done may stay.
    """

    damaging_statuses = frozenset({"closed"})

    def __init__(self, work: TicketRubric, company: Company, refusal: Refusal, fact: Fact) -> None:
        case = replace(work.ticket_case, refusal=refusal)
        super().__init__(case, TicketChecks(case, company), allowances=work.allowances)
        self._work = work
        self._facts = RequiredFacts((fact,), self.cancellation)

    def required_checks(self) -> Iterable[Check]:
        """Return the required checks of the outcome."""
        yield Check("ticket_cancelled", False, self.tickets.find_not_cancelled)
        yield self._facts.check()

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request of the agent is valid for the work."""
        return self._work.is_valid_request(evidence, request)
