"""Rules of decisions: eligible approvers, times, and verdicts with objections and planned reactions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from companyos_approvalflow.decisions.model import DecisionKind, Reaction, ReactionKind, Turn, Verdict
from companyos_approvalflow.decisions.rules import (
    check_may_be_asked,
    decision_time,
    honest_objection,
    is_too_old,
    second_approver,
    verdict,
)
from companyos_shared.framework import ServiceError
from tests.approvalflow.builders import (
    AGENT,
    CEO,
    CFO,
    CLERK,
    CONTROLLER,
    FIELDS,
    GONE,
    LEAD,
    NOW,
    a_case,
    a_company,
    a_delegation,
    a_request,
    a_type,
)

WEEK = ("2026-03-02", "2026-03-06")


def _code(person_id: str, **case: Any) -> str | None:
    try:
        check_may_be_asked(a_case(**case), person_id, NOW)
    except ServiceError as problem:
        return problem.code
    return None


def test_the_holder_of_the_role_for_the_amount_is_entitled() -> None:
    assert _code(CFO) is None


@pytest.mark.parametrize("amount", [0, 499_999, 500_000])
def test_a_threshold_includes_its_own_amount(amount: int) -> None:
    assert _code(CONTROLLER, amount_cents=amount) is None
    assert _code(CFO, amount_cents=amount) == "approver-not-entitled"


def test_one_cent_above_the_threshold_requires_the_next_role() -> None:
    assert _code(CONTROLLER, amount_cents=500_001) == "approver-not-entitled"
    assert _code(CFO, amount_cents=500_001) is None


def test_an_absence_includes_its_last_day() -> None:
    assert _code(CFO, company=a_company(absences=[(CFO, "2026-02-20", "2026-03-02")])) == "approver-out-of-office"
    assert _code(CFO, company=a_company(absences=[(CFO, "2026-02-20", "2026-03-01")])) is None


def test_a_delegate_may_be_out_of_office_too() -> None:
    company = a_company(absences=[(CFO, *WEEK), (CONTROLLER, *WEEK)])
    assert _code(CONTROLLER, company=company, delegations=[a_delegation()]) == "approver-out-of-office"


def test_a_lack_of_entitlement_is_reported_before_an_absence() -> None:
    assert _code(CLERK, company=a_company(absences=[(CLERK, *WEEK)])) == "approver-not-entitled"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"ends_at": NOW}, "delegation-ended"),
        ({"starts_at": NOW + timedelta(seconds=1)}, "delegation-not-started"),
        ({"revoked_at": NOW}, "delegation-revoked"),
        ({"type_keys": ["expense"]}, "delegation-out-of-scope"),
        ({"limit_cents": 899_999}, "delegation-limit-too-low"),
    ],
)
def test_a_delegation_that_does_not_apply_does_not_entitle_its_delegate(changed: dict[str, Any], code: str) -> None:
    assert _code(CONTROLLER, delegations=[a_delegation(**changed)]) == code


@pytest.mark.parametrize(
    "changed",
    [{"starts_at": NOW}, {"ends_at": NOW + timedelta(seconds=1)}, {"limit_cents": 900_000}],
)
def test_a_delegation_covers_its_limits(changed: dict[str, Any]) -> None:
    assert _code(CONTROLLER, delegations=[a_delegation(type_keys=["onboarding"], **changed)]) is None


def test_a_delegation_by_a_person_without_the_role_has_no_effect() -> None:
    assert _code(CLERK, delegations=[a_delegation(from_id=LEAD, to_id=CLERK)]) == "approver-not-entitled"


def test_a_delegate_cannot_delegate_further() -> None:
    chain = [a_delegation(), a_delegation(id="DEL-2", from_id=CONTROLLER, to_id=CLERK)]
    assert _code(CLERK, delegations=chain) == "approver-not-entitled"


def test_a_requester_cannot_approve_through_a_delegate() -> None:
    case = {"requester_id": CFO, "delegations": [a_delegation()]}
    assert _code(CONTROLLER, **case) == "approver-not-entitled"


def test_the_error_describes_the_closest_matching_delegation() -> None:
    several = [a_delegation(ends_at=NOW), a_delegation(id="DEL-2", limit_cents=1)]
    assert _code(CONTROLLER, delegations=several) == "delegation-limit-too-low"
    assert _code(CONTROLLER, delegations=several[::-1]) == "delegation-limit-too-low"


def test_one_delegation_in_force_is_enough() -> None:
    assert _code(CONTROLLER, delegations=[a_delegation(ends_at=NOW), a_delegation(id="DEL-2")]) is None


def test_the_second_approval_requires_the_second_role() -> None:
    second = {"amount_cents": 20_000_000, "approvers_before": frozenset({CFO})}
    assert _code(CEO, **second) is None
    assert _code(CONTROLLER, **second) == "approver-not-entitled"


def test_a_person_cannot_approve_twice() -> None:
    twice = a_type(second_role=a_case().approval_type.thresholds[-1].role)
    second = {"approval_type": twice, "amount_cents": 20_000_000, "approvers_before": frozenset({CFO})}
    assert _code(CFO, **second) == "already-approved-by"
    assert _code(CONTROLLER, delegations=[a_delegation()], **second) == "approver-not-entitled"


def _second(**case: Any) -> str | None:
    return second_approver(a_case(amount_cents=20_000_000, approvers_before=frozenset({CFO}), **case), NOW)


def test_the_second_approver_is_an_available_holder_of_the_role() -> None:
    assert _second() == CEO


def test_the_second_approver_is_a_delegate_while_the_holder_is_absent() -> None:
    delegations = [a_delegation(from_id=CEO, to_id=LEAD)]
    assert _second(company=a_company(absences=[(CEO, *WEEK)]), delegations=delegations) == LEAD


def test_the_second_approver_is_an_absent_holder_if_there_is_no_delegate() -> None:
    assert _second(company=a_company(absences=[(CEO, *WEEK)])) == CEO


def test_a_request_can_lack_a_second_approver() -> None:
    assert _second(requester_id=CEO) is None


def test_a_decision_falls_within_office_hours() -> None:
    evening = NOW + timedelta(hours=7, minutes=50)
    moment = decision_time(a_company(), CFO, start=evening, office_minutes=30)
    assert moment == NOW + timedelta(days=1, minutes=20)


def test_a_decision_waits_for_the_approvers_return() -> None:
    company = a_company(absences=[(CFO, "2026-03-02", "2026-03-03")], holidays=[{"day": "2026-03-04", "name": "Day"}])
    assert decision_time(company, CFO, start=NOW, office_minutes=15) == NOW + timedelta(days=3, minutes=15)


def test_an_approver_who_has_left_decides_nothing() -> None:
    assert decision_time(a_company(), GONE, start=NOW, office_minutes=15) is None


def test_a_delay_of_more_than_a_year_means_no_decision() -> None:
    assert decision_time(a_company(), CFO, start=NOW, office_minutes=10_000_000) is None


def test_the_agent_is_an_employee_like_others() -> None:
    assert _code(AGENT, requester_id=CLERK) == "approver-not-entitled"


STALE = {**FIELDS, "score_as_of": "2026-03-01T08:59:00Z"}
OBJECTION = Verdict(DecisionKind.REJECTED, "missing_justification", "")


def _objection(case: dict[str, Any] | None = None, **request: Any) -> str | None:
    found = honest_objection(a_case(**(case or {})), a_request(**request), NOW)
    return None if found is None else found.reason_code


@pytest.mark.parametrize(
    "request_",
    [
        {"requester_id": CFO},
        {"subject": CFO},
        {"fields": {**FIELDS, "for_person": CFO}},
    ],
)
def test_a_person_whom_the_request_concerns_has_a_conflict_of_interest(request_: dict[str, Any]) -> None:
    assert _objection(None, **request_) == "conflict_of_interest"


def test_a_former_approver_has_a_conflict_of_interest() -> None:
    assert _objection({"approvers_before": frozenset({CFO})}) == "conflict_of_interest"


def test_a_person_in_an_ordinary_field_has_no_conflict_of_interest() -> None:
    assert _objection(None, fields={**FIELDS, "vendor_id": CFO}) is None


@pytest.mark.parametrize("text", ["", " " * 40, "x" * 19, f"  {'x' * 19}  "])
def test_a_justification_below_twenty_characters_is_missing(text: str) -> None:
    assert _objection(None, justification=text) == "missing_justification"


def test_a_justification_of_twenty_characters_is_sufficient() -> None:
    assert _objection(None, justification="x" * 20) is None


def test_evidence_older_than_its_limit_at_submission_is_too_old() -> None:
    assert _objection(None, fields=STALE) == "evidence_too_old"


def test_evidence_at_its_limit_is_fresh() -> None:
    assert _objection(None, fields={**FIELDS, "score_as_of": "2026-03-01T09:00:00Z"}) is None


def test_the_age_of_evidence_is_measured_at_submission() -> None:
    assert honest_objection(a_case(), a_request(), NOW + timedelta(days=4)) is None


def test_unreadable_evidence_is_too_old() -> None:
    spec = a_type().fields[2]
    assert is_too_old(spec, a_request(fields={**FIELDS, "score_as_of": "yesterday"}))
    assert not is_too_old(spec, a_request(fields={}))


def test_an_amount_above_the_delegations_limit_is_over_the_limit() -> None:
    case = {"delegations": [a_delegation(to_id="E-7", limit_cents=1)]}
    assert _objection(case, approver_id="E-7") == "over_the_limit"


def test_the_first_objection_in_order_is_reported() -> None:
    everything = {"subject": CONTROLLER, "justification": "", "fields": STALE, "approver_id": CONTROLLER}
    assert _objection(None, **everything) == "conflict_of_interest"
    assert _objection(None, **{**everything, "subject": "V-1"}) == "missing_justification"
    assert _objection(None, approver_id=CONTROLLER, fields=STALE) == "evidence_too_old"


def test_an_objection_takes_precedence_over_a_planned_decision() -> None:
    assert verdict(OBJECTION, Turn(1, Reaction(ReactionKind.REQUEST_INFO, None, "", 0))) == OBJECTION


def test_the_requester_never_decides() -> None:
    assert _objection(None, approver_id=AGENT) == "conflict_of_interest"
