"""The rubric of a ticket that turns out not to be needed: it is cancelled, and work that was done for it may stay."""

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
    """The ticket ends cancelled for the reason, by an agent that knew the fact behind it.

    `work` is the rubric of the work that the ticket asks for. It says what may change on the way.
    """

    def __init__(self, work: TicketRubric, company: Company, refusal: Refusal, fact: Fact) -> None:
        super().__init__(replace(work.ticket_case, refusal=refusal), company, allowances=work.allowances)
        self._work = work
        self._facts = RequiredFacts((fact,), self._cancellation)

    def required_checks(self) -> Iterable[Check]:
        """Return what the end asks for."""
        yield Check("ticket_cancelled", False, self.tickets.find_not_cancelled)
        yield self._facts.check("facts_known")

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Say whether a request of the agent's is one that the work asks for."""
        return self._work.is_valid_request(evidence, request)

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed."""
        if self.tickets.ticket(evidence).status == "closed":
            yield self.tickets.row_path

    def _cancellation(self, evidence: Evidence) -> Change | None:
        return self.tickets.last_transition(evidence, "cancelled")
