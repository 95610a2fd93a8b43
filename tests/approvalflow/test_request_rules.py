"""Rules of requests and delegations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from companyos_approvalflow.approval_types.rules import ApprovalTypeNotFoundError
from companyos_approvalflow.delegations.rules import check_may_delegate, check_may_revoke, check_period
from companyos_approvalflow.requests.model import FINAL, MOVES, OPEN, WAITING, RequestStatus
from companyos_approvalflow.requests.rules import (
    check_amount_stays,
    check_is_information,
    check_is_requester,
    check_may_move,
    check_none_open,
    check_waits_for_information,
    existing,
)
from companyos_shared.framework import ServiceError
from tests.approvalflow.builders import (
    AGENT,
    CFO,
    CLERK,
    CONTROLLER,
    FIELDS,
    GONE,
    NOW,
    a_company,
    a_delegation,
    a_request,
    a_type,
)


def _code(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ServiceError as problem:
        return problem.code
    return None


def test_every_status_has_its_allowed_transitions() -> None:
    assert set(MOVES) == set(RequestStatus)
    assert {status.value for status in FINAL} == {"approved", "rejected", "cancelled", "withdrawn", "expired"}
    assert {status.value for status in OPEN} == {"pending", "escalated", "info_requested"}
    assert not FINAL & OPEN
    assert WAITING < OPEN


@pytest.mark.parametrize("status", sorted(FINAL))
@pytest.mark.parametrize("to", [RequestStatus.CANCELLED, RequestStatus.WITHDRAWN, RequestStatus.ESCALATED])
def test_a_final_request_has_no_transitions(status: RequestStatus, to: RequestStatus) -> None:
    assert _code(lambda: check_may_move(a_request(status=status), to)) == "request-final"


@pytest.mark.parametrize("status", sorted(set(RequestStatus) - FINAL))
@pytest.mark.parametrize("to", [RequestStatus.CANCELLED, RequestStatus.WITHDRAWN])
def test_any_request_that_is_not_final_can_be_ended(status: RequestStatus, to: RequestStatus) -> None:
    assert _code(lambda: check_may_move(a_request(status=status), to)) is None


def test_only_a_pending_request_can_be_escalated() -> None:
    to = RequestStatus.ESCALATED
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.PENDING), to)) is None
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.ESCALATED), to)) is None
    request = a_request(status=RequestStatus.INFO_REQUESTED)
    assert _code(lambda: check_may_move(request, to)) == "information-outstanding"
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.DRAFT), to)) == "request-not-submitted"


def test_information_is_accepted_only_if_it_was_requested() -> None:
    assert _code(lambda: check_waits_for_information(a_request(status=RequestStatus.INFO_REQUESTED))) is None
    assert _code(lambda: check_waits_for_information(a_request())) == "information-not-requested"
    decided = a_request(status=RequestStatus.APPROVED)
    assert _code(lambda: check_waits_for_information(decided)) == "request-final"


def test_information_without_anything_new_is_rejected() -> None:
    def given(fields: dict[str, object], answer: str) -> Callable[[], None]:
        return lambda: check_is_information(a_request(), fields, answer=answer)  # type: ignore[arg-type]

    assert _code(given({**FIELDS}, " ")) == "information-unchanged"
    assert _code(given({**FIELDS, "score": 90}, "")) is None
    assert _code(given({**FIELDS}, "It is contract CON-12.")) is None


def test_an_approved_amount_cannot_be_changed() -> None:
    def changed(amount: int, approvals: int) -> Callable[[], None]:
        fields = {**FIELDS, "cost_cents": amount}
        return lambda: check_amount_stays(a_type(), a_request(), fields=fields, approvals=approvals)

    assert _code(changed(5, 1)) == "amount-fixed"
    assert _code(changed(900_000, 1)) is None
    assert _code(changed(5, 0)) is None


@pytest.mark.parametrize("status", sorted(RequestStatus))
def test_only_one_request_of_a_type_is_open_per_subject(status: RequestStatus) -> None:
    expected = "request-open" if status in OPEN else None
    assert _code(lambda: check_none_open(a_request(status=status))) == expected
    assert _code(lambda: check_none_open(None)) is None


def test_only_the_requester_can_withdraw() -> None:
    assert _code(lambda: check_is_requester(a_request(), AGENT)) is None
    assert _code(lambda: check_is_requester(a_request(), CLERK)) == "not-the-requester"


def test_a_missing_request_is_not_found() -> None:
    assert existing(a_request(), "APR-1").id == "APR-1"
    assert _code(lambda: existing(None, "APR-9")) == "request-not-found"
    assert ApprovalTypeNotFoundError.status == 404


def _delegating(giver: str = CFO, to: str = CONTROLLER, caller: str = CFO, role: str = "cfo") -> str | None:
    return _code(
        lambda: check_may_delegate(a_company(), giver_id=giver, delegate_id=to, caller_id=caller, roles={role}, now=NOW)
    )


def test_an_approver_may_delegate() -> None:
    assert _delegating() is None


def test_a_person_cannot_delegate_for_another_person() -> None:
    assert _delegating(caller=AGENT) == "delegation-not-yours"


def test_a_person_cannot_delegate_to_themselves() -> None:
    assert _delegating(to=CFO) == "delegation-to-self"


@pytest.mark.parametrize("delegate", [GONE, "E-99"])
def test_a_delegate_must_work_for_the_company(delegate: str) -> None:
    assert _delegating(to=delegate) == "unknown-delegate"


def test_a_person_without_authority_cannot_delegate() -> None:
    assert _delegating(giver=CLERK, caller=CLERK) == "nothing-to-delegate"
    assert _delegating(role="cto") == "nothing-to-delegate"


def test_a_delegation_cannot_begin_in_the_past_or_end_before_it_begins() -> None:
    later = NOW + timedelta(minutes=1)
    assert _code(lambda: check_period(NOW, later, NOW)) is None
    assert _code(lambda: check_period(NOW, NOW, NOW)) == "delegation-period"
    assert _code(lambda: check_period(NOW - timedelta(minutes=1), later, NOW)) == "delegation-period"


def test_a_delegation_can_be_revoked_once() -> None:
    assert _code(lambda: check_may_revoke(a_delegation(), NOW)) is None
    assert _code(lambda: check_may_revoke(a_delegation(revoked_at=NOW), NOW)) == "delegation-revoked"
    assert _code(lambda: check_may_revoke(a_delegation(ends_at=NOW), NOW)) == "delegation-ended"
