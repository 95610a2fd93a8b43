"""Work that needs several approvals: each asked for once the one before is given, and each given by somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.allowances import request_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.composition import Check, Milestone
from companyos_gateway.rubrics.deskwork import POINTS, paid, plain_check
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.goals import Goal
from companyos_gateway.rubrics.requests import FieldRecord, RequestRules
from companyos_gateway.rubrics.workflow import APPROVED_POINTS, RECORDED_POINTS, Fulfilment, Refused, Workflow
from companyos_shared.wire.company import Company


class InOrder(Workflow):
    """What both ends have in common. `stages` are the approvals by name, the last being the one that is linked."""

    def __init__(
        self,
        case: DeskCase,
        company: Company,
        *,
        stages: Mapping[str, RequestRules],
        allowances: Iterable[Allowance],
        goals: Sequence[Goal] = (),
    ) -> None:
        self.names = tuple(stages)
        self.stages = tuple(stages.values())
        own = [allowance for rules in self.stages for allowance in request_allowances(rules)]
        super().__init__(case, company, requests=self.stages[-1], allowances=[*allowances, *own], goals=goals)

    def forbidden(self) -> Iterable[Check]:
        """Return the checks on what no request of any stage may ever have said."""
        for name, rules in zip(self.names, self.stages, strict=True):
            yield rules.fabricated_check(f"nothing_fabricated_for_{name}")
            if rules.dated is not None:
                yield rules.stale_check(f"nothing_stale_used_for_{name}")


class FulfilmentInOrder(InOrder, Fulfilment):
    """The ticket ends resolved with every approval given in order."""

    def grant_checks(self) -> Iterable[Check]:
        """Return the checks on the approvals, and on what follows from them."""
        for place, name in enumerate(self.names[:-1]):
            yield plain_check(f"{name}_given", partial(self.is_given, place=place))
            yield plain_check(f"no_second_{name}", partial(self.is_single, place=place), passes_idle=True)
        yield from super().grant_checks()
        yield plain_check("approvers_differ", self.do_approvers_differ, passes_idle=True)

    def end_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end; the stages share the usual points."""
        if any(rules.dated is not None for rules in self.stages):
            yield paid("fresh_value", self.has_fresh_value)
        for place, name in enumerate(self.names):
            points = POINTS["submitted"], APPROVED_POINTS
            asked, given = (round(whole / len(self.names), 3) for whole in points)
            yield Milestone(f"submitted_{name}", asked, partial(self.is_asked, place=place))
            yield Milestone(f"approved_{name}", given, partial(self.is_given, place=place))
        if self.goals and all(rules.dated is None for rules in self.stages):
            yield Milestone("recorded", RECORDED_POINTS, self.was_recorded_after_approval)

    def sound(self, evidence: Evidence) -> facts.RequestFacts | None:
        """Return a last request that stands, is sound and came after the approvals before it."""
        return self.sound_at(evidence, len(self.stages) - 1)

    def sound_at(self, evidence: Evidence, place: int) -> facts.RequestFacts | None:
        """Return a request of a stage that stands, is sound and came after the approvals before it."""
        rules = self.stages[place]
        found = (one for one in rules.live(evidence) if rules.is_sound(evidence, one))
        return next((one for one in found if place == 0 or self.came_after(evidence, one, place=place - 1)), None)

    def given_at(self, evidence: Evidence, place: int) -> facts.RequestFacts | None:
        """Return the approved request of a stage."""
        request = self.sound_at(evidence, place)
        is_given = request is not None and self.stages[place].is_approved(evidence, request)
        return request if is_given else None

    def came_after(self, evidence: Evidence, request: facts.RequestFacts, *, place: int) -> bool:
        """Say whether a request was made once the approval of a stage was there."""
        before = self.given_at(evidence, place)
        if before is None:
            return False
        made = evidence.row_changes(facts.APPROVALFLOW, "requests", request.id)[0]
        row = evidence.row_at(facts.APPROVALFLOW, "requests", before.id, made.step)
        return row is not None and facts.request(row).status == "approved"

    def is_asked(self, evidence: Evidence, *, place: int) -> bool:
        """Say whether a sound request of a stage stands."""
        return self.sound_at(evidence, place) is not None

    def is_given(self, evidence: Evidence, *, place: int) -> bool:
        """Say whether a stage is approved."""
        return self.given_at(evidence, place) is not None

    def is_single(self, evidence: Evidence, *, place: int) -> bool:
        """Say whether at most one request of a stage stands."""
        return len(self.stages[place].live(evidence)) <= 1

    def has_fresh_value(self, evidence: Evidence) -> bool:
        """Say whether a request with dated evidence stands, truthful and fresh."""
        return any(
            rules.is_truthful(evidence, one.id) and rules.is_fresh(evidence, one.id)
            for rules in self.stages
            if rules.dated is not None
            for one in rules.live(evidence)
        )

    def do_approvers_differ(self, evidence: Evidence) -> bool:
        """Say whether nobody has given two of the approvals."""
        given = [self.given_at(evidence, place) for place in range(len(self.stages))]
        people = [request.approver_id for request in given if request is not None]
        return len(set(people)) == len(people)


class RefusedInOrder(InOrder, Refused):
    """The ticket ends cancelled for the reason with nothing approved at any stage."""

    def grant_checks(self) -> Iterable[Check]:
        """Return the checks on what must not have been granted."""
        yield plain_check("nothing_approved", self.does_nothing_stand, passes_idle=True)

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed, and each request that was approved all the same."""
        yield from super().own_damage(evidence)
        for rules in self.stages[:-1]:
            for request in rules.requests(evidence):
                if request.status == "approved":
                    yield f"{facts.APPROVALFLOW}.requests[{request.id}]"

    def does_nothing_stand(self, evidence: Evidence) -> bool:
        """Say whether no request of any stage stands."""
        return not any(rules.live(evidence) for rules in self.stages)

    def is_link_own(self, evidence: Evidence) -> bool:
        """Say whether the ticket names no request but one of the task's own."""
        reference = self.tickets.ticket(evidence).approval_ref
        own = {one.id for rules in self.stages for one in rules.requests(evidence)}
        return reference is None or reference in own


def reference_to(rules: RequestRules) -> FieldRecord:
    """Return the id of the request of an earlier stage that was approved, as the system of record of a field."""

    def approved_id(evidence: Evidence, step: int) -> str | None:
        for request in rules.requests(evidence):
            row = evidence.row_at(facts.APPROVALFLOW, "requests", request.id, step)
            if row is not None and facts.request(row).status == "approved":
                return request.id
        return None

    return approved_id
