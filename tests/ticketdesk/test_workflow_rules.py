"""Rules of transitions."""

from __future__ import annotations

from itertools import product

import pytest

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.tickets.model import MOVES, ReasonCode, Status
from companyos_ticketdesk.tickets.rules import TicketClosedError, TicketUntriagedError
from companyos_ticketdesk.workflow.rules import (
    Reason,
    ReasonMissingError,
    ReasonNotAcceptedError,
    TicketBlockedError,
    TransitionNotAllowedError,
    allowed_moves,
    check_may_move,
    check_reason,
    reason_of,
)
from tests.ticketdesk.builders import a_ticket

EVERY_MOVE = list(product([None, *Status], Status))
BLOCKERS = ("OPS-2",)
A_REASON = Reason(ReasonCode.DUPLICATE, "OPS-2")


def refusal(status: Status | None, to: Status, *, blockers: tuple[str, ...] = ()) -> type[ServiceError] | None:
    try:
        check_may_move(a_ticket(status=status), to, blockers=blockers)
    except ServiceError as problem:
        return type(problem)
    return None


@pytest.mark.parametrize(("status", "to"), EVERY_MOVE)
def test_a_ticket_allows_exactly_the_transitions_of_the_table(status: Status | None, to: Status) -> None:
    if to in MOVES[status]:
        assert refusal(status, to) is None
    elif status is None:
        assert refusal(status, to) is TicketUntriagedError
    elif status in (Status.CLOSED, Status.CANCELLED):
        assert refusal(status, to) is TicketClosedError
    else:
        assert refusal(status, to) is TransitionNotAllowedError


def test_an_untriaged_ticket_can_only_be_opened() -> None:
    assert MOVES[None] == (Status.OPEN,)


@pytest.mark.parametrize("status", [Status.CLOSED, Status.CANCELLED])
def test_a_final_status_has_no_transitions(status: Status) -> None:
    assert MOVES[status] == ()


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.IN_REVIEW])
def test_a_ticket_that_another_blocks_cannot_be_resolved(status: Status) -> None:
    assert refusal(status, Status.RESOLVED, blockers=BLOCKERS) is TicketBlockedError


def test_a_resolved_ticket_that_another_blocks_cannot_be_closed() -> None:
    assert refusal(Status.RESOLVED, Status.CLOSED, blockers=BLOCKERS) is TicketBlockedError


@pytest.mark.parametrize("to", [Status.OPEN, Status.IN_PROGRESS])
def test_a_blocked_ticket_stays_blocked_while_another_blocks_it(to: Status) -> None:
    assert refusal(Status.BLOCKED, to, blockers=BLOCKERS) is TicketBlockedError
    assert refusal(Status.BLOCKED, to) is None


def test_a_blocked_ticket_can_be_cancelled() -> None:
    assert refusal(Status.BLOCKED, Status.CANCELLED, blockers=BLOCKERS) is None


@pytest.mark.parametrize("to", [Status.RESOLVED, Status.CLOSED])
def test_a_blocked_ticket_is_never_resolved_or_closed(to: Status) -> None:
    assert refusal(Status.BLOCKED, to) is TransitionNotAllowedError


@pytest.mark.parametrize(("status", "blockers"), list(product([None, *Status], [(), BLOCKERS])))
def test_the_allowed_transitions_are_those_that_are_not_rejected(
    status: Status | None, blockers: tuple[str, ...]
) -> None:
    free = {to for to in Status if refusal(status, to, blockers=blockers) is None}
    assert set(allowed_moves(a_ticket(status=status), blockers=blockers)) == free


@pytest.mark.parametrize("to", [Status.CLOSED, Status.CANCELLED])
def test_ending_a_ticket_requires_a_reason(to: Status) -> None:
    with pytest.raises(ReasonMissingError):
        check_reason(to, None, is_given=False)
    check_reason(to, A_REASON, is_given=True)


def test_blocking_accepts_no_or_a_complete_reason() -> None:
    check_reason(Status.BLOCKED, None, is_given=False)
    check_reason(Status.BLOCKED, A_REASON, is_given=True)
    with pytest.raises(ReasonMissingError):
        check_reason(Status.BLOCKED, None, is_given=True)


@pytest.mark.parametrize("to", sorted(set(Status) - {Status.CLOSED, Status.CANCELLED, Status.BLOCKED}))
def test_other_transitions_accept_no_reason(to: Status) -> None:
    check_reason(to, None, is_given=False)
    with pytest.raises(ReasonNotAcceptedError):
        check_reason(to, A_REASON, is_given=True)


@pytest.mark.parametrize(("code", "ref"), [(None, "OPS-2"), (ReasonCode.DUPLICATE, None), (ReasonCode.DUPLICATE, " ")])
def test_an_incomplete_reason_is_ignored(code: ReasonCode | None, ref: str | None) -> None:
    assert reason_of(code, ref) is None


def test_the_reference_of_a_reason_is_stripped() -> None:
    assert reason_of(ReasonCode.DUPLICATE, " OPS-2 ") == A_REASON
