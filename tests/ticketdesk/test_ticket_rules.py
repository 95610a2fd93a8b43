"""General rules of tickets."""

from __future__ import annotations

from datetime import timedelta

import pytest

from companyos_ticketdesk.tickets.model import FINAL, SETTLED, Status
from companyos_ticketdesk.tickets.rules import (
    TicketClosedError,
    TicketUntriagedError,
    TitleBlankError,
    check_is_live,
    check_title,
    is_overdue,
)
from tests.ticketdesk.builders import NOW, a_ticket


def test_an_untriaged_ticket_is_not_live() -> None:
    with pytest.raises(TicketUntriagedError):
        check_is_live(a_ticket(status=None))


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_ticket_in_a_final_status_is_not_live(status: Status) -> None:
    with pytest.raises(TicketClosedError):
        check_is_live(a_ticket(status=status))


@pytest.mark.parametrize("status", sorted(set(Status) - FINAL))
def test_every_other_ticket_is_live(status: Status) -> None:
    check_is_live(a_ticket(status=status))


def test_closed_and_cancelled_are_the_only_final_statuses() -> None:
    assert {Status.CLOSED, Status.CANCELLED} == FINAL
    assert FINAL | {Status.RESOLVED} == SETTLED


def test_a_title_of_white_space_is_blank() -> None:
    with pytest.raises(TitleBlankError):
        check_title(" \n")
    check_title("Work")
    check_title(None)


def test_a_ticket_is_overdue_only_after_its_due_time() -> None:
    ticket = a_ticket(due_at=NOW)
    assert not is_overdue(ticket, NOW)
    assert is_overdue(ticket, NOW + timedelta(seconds=1))


def test_a_ticket_without_a_due_time_is_never_overdue() -> None:
    assert not is_overdue(a_ticket(due_at=None), NOW)


@pytest.mark.parametrize("status", [None, *Status])
def test_only_a_settled_ticket_cannot_be_overdue(status: Status | None) -> None:
    late = a_ticket(status=status, due_at=NOW - timedelta(days=1))
    assert is_overdue(late, NOW) is (status not in SETTLED)
