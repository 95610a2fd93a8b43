"""The rubric of a ticket that turns out to be unnecessary: it is cancelled, and work already done for it may stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import Fact, RequiredFacts
from companyos_gateway.evaluation.rubric import Check
from companyos_gateway.evaluation.ticket_rubric import TicketRubric
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change


class WithdrawnOutcome(TicketRubric):
    """Outcome: the ticket is cancelled for the reason, by an agent that knew the fact behind it.

    `work` is the rubric of the work that the ticket requires; its allowances apply.
    """

    def __init__(self, work: TicketRubric, company: Company, refusal: Refusal, fact: Fact) -> None:
        super().__init__(replace(work.ticket_case, refusal=refusal), company, allowances=work.allowances)
        self._work = work
        self._facts = RequiredFacts((fact,), self._cancellation)

    def required_checks(self) -> Iterable[Check]:
        """Return the required checks of the outcome."""
        yield Check("ticket_cancelled", False, self.tickets.find_not_cancelled)
        yield self._facts.check()

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request of the agent is valid for the work."""
        return self._work.is_valid_request(evidence, request)

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket if it was closed."""
        if self.tickets.ticket(evidence).status == "closed":
            yield self.tickets.row_path

    def _cancellation(self, evidence: Evidence) -> Change | None:
        return self.tickets.last_transition(evidence, "cancelled")
