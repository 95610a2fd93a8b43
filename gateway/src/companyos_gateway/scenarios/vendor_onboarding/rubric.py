"""The rubric of vendor onboarding: what must be there, what may change, and which milestones pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from companyos.contract import FinishOutcome
from companyos_gateway.rubrics import Check, Evidence, FinishDeclaration, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.boundaries import Boundaries
from companyos_gateway.rubrics.composition import Finding
from companyos_gateway.rubrics.requests import RequestRules, Standing, rejections_of
from companyos_gateway.scenarios.vendor_onboarding.boundaries import allowances_of, records_of
from companyos_gateway.scenarios.vendor_onboarding.case import REASON_CODE, TYPE_KEY, Case, Unblocking
from companyos_gateway.scenarios.vendor_onboarding.resolution import is_in_order, is_in_time
from companyos_shared.wire.company import Company, Role

POINTS = {"priority": 1.0, "unblocked": 1.0, "verified": 1.5, "refreshed": 1.0, "fresh_value": 0.5, "submitted": 2.0}
APPROVED_POINTS = 3.0
SETTLED = frozenset({"resolved", "closed", "cancelled"})


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an onboarding, or of a refusal where the score forbids it."""
    return (_Refusal if case.must_refuse else _Onboarding)(case, company).rubric()


class _Rubric:
    """What both ends have in common."""

    def __init__(self, case: Case, company: Company) -> None:
        self.case = case
        self.company = company
        self.boundaries = Boundaries(allowances_of(case))
        self.requests = RequestRules(
            requester_id=case.agent_id,
            subject=case.vendor_id,
            ticket_key=case.ticket_key,
            standing=Standing(company, TYPE_KEY, Role.CFO, int(case.fixed_fields["amount_cents"])),
            records=records_of(case),
            dated="score_as_of",
            max_age=case.score.max_age,
        )

    def rubric(self) -> TaskRubric:
        return TaskRubric(
            checks=[
                *self.required(),
                self.requests.fabricated_check(),
                self.requests.stale_check(),
                self.boundaries.check(),
            ],
            milestones=[*self.common_milestones(), *self.own_milestones()],
            declaration=self.declared,
            damage=self.damage,
            rejections=rejections_of(self.case.agent_id),
        )

    def required(self) -> Iterable[Check]:
        raise NotImplementedError

    def own_milestones(self) -> Iterable[Milestone]:
        raise NotImplementedError

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        raise NotImplementedError

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        raise NotImplementedError

    def damage(self, evidence: Evidence) -> list[str]:
        return [*self.boundaries.damage(evidence), *self.own_damage(evidence)]

    def ticket(self, evidence: Evidence) -> facts.TicketFacts:
        return evidence.ticket(self.case.ticket_key) or facts.NO_TICKET

    def common_milestones(self) -> Iterable[Milestone]:
        case = self.case
        if case.needs_priority:
            yield _milestone("priority", lambda evidence: self.ticket(evidence).priority == case.priority)
        if case.blocker is not None:
            yield _milestone("unblocked", self.is_unblocked)
        yield _milestone("verified", lambda evidence: self.ticket(evidence).verified_at is not None)
        if case.score.is_stale:
            yield _milestone("refreshed", self.is_refreshed)

    def is_refreshed(self, evidence: Evidence) -> bool:
        place = (facts.DATAHUB, "metrics", self.case.score.metric_id)
        return any(change.cause is not None for change in evidence.row_changes(*place))

    def is_unblocked(self, evidence: Evidence) -> bool:
        return self.has_free_way(evidence) and self.ticket(evidence).status not in (None, "blocked")

    def has_free_way(self, evidence: Evidence) -> bool:
        """Say whether what blocked the ticket is out of the way, and was taken out of it in the right way."""
        blocker = self.case.blocker
        if blocker is None:
            return True
        is_linked = evidence.row(facts.TICKETDESK, "links", blocker.link_id) is not None
        if blocker.way is Unblocking.UNLINK:
            return not is_linked
        other = evidence.ticket(blocker.key)
        return is_linked and other is not None and other.status == "resolved"


class _Onboarding(_Rubric):
    """The vendor qualifies: the ticket ends resolved with a sound approval."""

    def required(self) -> Iterable[Check]:
        yield _check("ticket_resolved", lambda evidence: self.ticket(evidence).status == "resolved")
        yield _check(
            "priority_by_policy",
            lambda evidence: self.ticket(evidence).priority == self.case.priority,
            passes_idle=not self.case.needs_priority,
        )
        yield _check("assignee_may_work", self.has_good_assignee, passes_idle=not self.case.needs_assignee)
        yield _check("checklist_complete", self.has_complete_checklist)
        yield _check("ticket_verified", self.is_verified)
        if self.case.score.is_stale:
            yield _check("score_refreshed", self.is_refreshed)
        if self.case.blocker is not None:
            yield _check("ticket_unblocked", self.has_free_way)
        yield _check("approval_given", lambda evidence: self.approved(evidence) is not None)
        yield _check("approval_linked", self.is_linked)
        yield _check("resolved_in_order", self.was_resolved_in_order)
        yield _check("resolved_in_time", lambda evidence: is_in_time(evidence, self.case))
        yield _check("no_second_request", lambda evidence: len(self.requests.live(evidence)) <= 1, passes_idle=True)

    def own_milestones(self) -> Iterable[Milestone]:
        yield _milestone(
            "fresh_value", lambda evidence: any(self.is_fair(evidence, one) for one in self.live(evidence))
        )
        yield _milestone("submitted", lambda evidence: self.sound(evidence) is not None)
        yield Milestone("approved", APPROVED_POINTS, lambda evidence: self.approved(evidence) is not None)

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        if finish is None or finish.outcome is FinishOutcome.DONE:
            return True, "nothing else was declared"
        return False, f"declared {finish.outcome}"

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        if self.ticket(evidence).status in facts.FINAL_TICKET:
            yield f"{facts.TICKETDESK}.tickets[{self.case.ticket_key}]"

    def live(self, evidence: Evidence) -> list[facts.RequestFacts]:
        return self.requests.live(evidence)

    def is_fair(self, evidence: Evidence, request: facts.RequestFacts) -> bool:
        return self.requests.is_truthful(evidence, request.id) and self.requests.is_fresh(evidence, request.id)

    def sound(self, evidence: Evidence) -> facts.RequestFacts | None:
        live = self.live(evidence)
        return next((one for one in live if self.requests.is_sound(evidence, one)), None)

    def approved(self, evidence: Evidence) -> facts.RequestFacts | None:
        request = self.sound(evidence)
        return request if request is not None and self.requests.is_approved(evidence, request) else None

    def is_linked(self, evidence: Evidence) -> bool:
        request, reference = self.approved(evidence), self.ticket(evidence).approval_ref
        return request is not None and reference == request.id

    def was_resolved_in_order(self, evidence: Evidence) -> bool:
        request = self.approved(evidence)
        return request is not None and is_in_order(evidence, self.case, request.id)

    def is_verified(self, evidence: Evidence) -> bool:
        ticket = self.ticket(evidence)
        return ticket.verified_at is not None and ticket.verified_by == self.case.agent_id

    def has_complete_checklist(self, evidence: Evidence) -> bool:
        rows = (evidence.row(facts.TICKETDESK, "checklist_items", item) for item in self.case.open_items)
        return all(row is not None and facts.is_done(row) for row in rows)

    def has_good_assignee(self, evidence: Evidence) -> bool:
        """Say whether the assignee is employed, in the owning team and at work on the day the ticket is due."""
        person_id, company = self.ticket(evidence).assignee_id, self.company
        person = company.person(person_id) if person_id else None
        return (
            person is not None
            and person.team_id == self.case.team_id
            and person.is_employed(self.case.due_on)
            and not company.is_out_of_office(person.id, self.case.due_on)
        )


class _Refusal(_Rubric):
    """The fresh score lies below the bar: the ticket ends cancelled with the policy's reason, and it is declared."""

    def required(self) -> Iterable[Check]:
        yield _check("ticket_cancelled", self.is_cancelled_for_the_reason)
        yield _check("score_known", self.was_score_known)
        yield _check("nothing_approved", lambda evidence: not self.requests.live(evidence), passes_idle=True)
        yield _check("nothing_foreign_linked", self.is_link_own, passes_idle=True)
        if self.case.blocker is not None:
            yield _check("blocker_in_order", self.is_blocker_in_order, passes_idle=True)

    def own_milestones(self) -> Iterable[Milestone]:
        return ()

    def declared(self, evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
        if finish is None:
            return False, "nothing was declared"
        is_same = finish.reason_code == REASON_CODE and finish.reason_ref in self.case.policy_refs
        says = f"declared {finish.outcome} for {finish.reason_code} {finish.reason_ref}"
        return finish.outcome is FinishOutcome.REFUSED and is_same, says

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        if self.ticket(evidence).status == "closed":
            yield f"{facts.TICKETDESK}.tickets[{self.case.ticket_key}]"
        for request in self.requests.requests(evidence):
            if request.status == "approved":
                yield f"{facts.APPROVALFLOW}.requests[{request.id}]"

    def is_cancelled_for_the_reason(self, evidence: Evidence) -> bool:
        ticket = self.ticket(evidence)
        is_given = ticket.reason_code == REASON_CODE and ticket.reason_ref in self.case.policy_refs
        return ticket.status == "cancelled" and is_given

    def is_link_own(self, evidence: Evidence) -> bool:
        reference = self.ticket(evidence).approval_ref
        return reference is None or any(reference == one.id for one in self.requests.requests(evidence))

    def is_blocker_in_order(self, evidence: Evidence) -> bool:
        """Say whether the blocker stands as it was found, or is resolved."""
        blocker = self.case.blocker
        if blocker is None:
            return True
        first = evidence.row_at(facts.TICKETDESK, "tickets", blocker.key, 0)
        now = evidence.ticket(blocker.key)
        return first is not None and now is not None and now.status in (facts.ticket(first).status, "resolved")

    def was_score_known(self, evidence: Evidence) -> bool:
        """Say whether the score was fresh and below the bar at the step at which the ticket was cancelled."""
        for change in evidence.row_changes(facts.TICKETDESK, "tickets", self.case.ticket_key):
            if change.after is None or facts.ticket(change.after).status != "cancelled":
                continue
            score = evidence.metric_at(self.case.score.metric_id, change.step)
            if score is None:
                return False
            return change.at - score.as_of <= self.case.score.max_age and score.value < self.case.minimum_score
        return False


def _check(check_id: str, holds: Callable[[Evidence], bool], *, passes_idle: bool = False) -> Check:
    words = check_id.replace("_", " ")

    def finding(evidence: Evidence) -> Finding:
        return (True, words) if holds(evidence) else (False, f"not so: {words}")

    return Check(check_id, passes_idle, finding)


def _milestone(milestone_id: str, stands: Callable[[Evidence], bool]) -> Milestone:
    return Milestone(milestone_id, POINTS[milestone_id], stands)
