"""The rubric of an errand: a ticket whose work is to bring several entities to their ends, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.composition import Check, Milestone
from companyos_gateway.rubrics.deskwork import Done
from companyos_gateway.rubrics.ends import Ends
from companyos_gateway.rubrics.evidence import Evidence
from companyos_shared.wire.company import Company

ENDS_POINTS = 5.0
"""What the ends pay together, in equal shares."""


class Errand(Done):
    """The ticket ends done, once every entity has come to its end."""

    def __init__(
        self, case: DeskCase, company: Company, *, allowances: Iterable[Allowance], ends: Sequence[Ends]
    ) -> None:
        self.ends = tuple(one for one in ends if one.ends)
        own = [allowance for one in self.ends for allowance in one.allowances()]
        super().__init__(case, company, allowances=[*allowances, *own])

    def own_checks(self) -> Iterable[Check]:
        """Return a check for each kind of ends."""
        for one in self.ends:
            yield one.check()

    def end_milestones(self) -> Iterable[Milestone]:
        """Return a milestone for each end."""
        share = round(ENDS_POINTS / sum(len(one.ends) for one in self.ends), 3)
        for one in self.ends:
            yield from one.milestones(share)

    def was_in_place(self, evidence: Evidence, step: int) -> bool:
        """Say whether every entity had come to its end once a step had been taken."""
        return all(one.are_met(evidence, step=step) for one in self.ends)

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed or cancelled, and each entity that was brought to another end."""
        yield from super().own_damage(evidence)
        for one in self.ends:
            yield from one.damage(evidence)
