"""Rubric of a ticket that requires several entities to reach their goals, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.milestones import Milestone, shared_milestones
from companyos_gateway.evaluation.rubric import Check
from companyos_gateway.evaluation.ticket_rubric import TicketCompletedOutcome
from companyos_shared.wire.company import Company


class MultiGoalRubric(TicketCompletedOutcome):
    """The ticket ends done, once every entity has come to its end."""

    def __init__(
        self,
        case: TicketCase,
        company: Company,
        *,
        allowances: Iterable[Allowance],
        entity_goals: Sequence[EntityGoals],
    ) -> None:
        self.entity_goals = tuple(one for one in entity_goals if one.goals)
        own = [allowance for one in self.entity_goals for allowance in one.allowances()]
        super().__init__(case, company, allowances=[*allowances, *own])

    def scenario_checks(self) -> Iterable[Check]:
        """Return a check for each kind of ends."""
        for one in self.entity_goals:
            yield one.check()

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return a milestone for each end."""
        parts = {name: is_reached for one in self.entity_goals for name, is_reached in one.parts()}
        yield from shared_milestones("entities", parts)

    def find_unfinished_work(self, evidence: Evidence, step: int) -> list[str]:
        """Return the entities that had not come to their end once a step had been taken."""
        return [row_path for one in self.entity_goals for row_path in one.unmet(evidence, step=step)]

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed or cancelled, and each entity that was brought to another end."""
        yield from super().task_damage(evidence)
        for one in self.entity_goals:
            yield from one.damage(evidence)
