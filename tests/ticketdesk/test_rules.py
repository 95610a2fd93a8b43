"""Rules of transitions, tickets, assignment and links."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product

import pytest

from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk.assignment.rules import (
    AssigneeNotEmployedError,
    AssigneeOutOfOfficeError,
    check_may_be_assigned,
)
from companyos_ticketdesk.links.model import Link, LinkKind, Relation
from companyos_ticketdesk.links.rules import (
    SHORTEST_JUSTIFICATION_CHARS,
    CircularLinkError,
    JustificationTooShortError,
    LinkExistsError,
    LinkToItselfError,
    check_justification,
    check_may_link,
)
from companyos_ticketdesk.tickets.model import FINAL, MOVES, SETTLED, Status
from companyos_ticketdesk.tickets.rules import (
    TicketClosedError,
    TicketUntriagedError,
    check_is_live,
    is_overdue,
)
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
from tests.ticketdesk.builders import (
    AWAY,
    EVA,
    NOW,
    OPS,
    STARTS_LATER,
    a_company,
    a_link,
    a_ticket,
)

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


@pytest.mark.parametrize("status", sorted(set(Status) - FINAL))
def test_every_other_ticket_is_live(status: Status) -> None:
    check_is_live(a_ticket(status=status))


def test_closed_and_cancelled_are_the_only_final_statuses() -> None:
    assert {Status.CLOSED, Status.CANCELLED} == FINAL
    assert FINAL | {Status.RESOLVED} == SETTLED


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


LAST_DAY_AWAY = NOW + timedelta(days=8)


def assign(person_id: str, *, now: datetime = NOW, due_at: datetime | None = None) -> None:
    check_may_be_assigned(a_company(), person_id, team_id=OPS, now=now, due_at=due_at)


def test_a_person_who_is_absent_on_the_due_day_may_not_be_assigned() -> None:
    with pytest.raises(AssigneeOutOfOfficeError):
        assign(AWAY, due_at=LAST_DAY_AWAY)


def test_an_overdue_ticket_counts_as_due_today() -> None:
    with pytest.raises(AssigneeOutOfOfficeError):
        assign(AWAY, due_at=NOW - timedelta(days=5))
    assign(AWAY, now=LAST_DAY_AWAY + timedelta(days=1), due_at=NOW)


def test_employment_counts_today_and_not_on_the_due_day() -> None:
    assign(EVA, due_at=NOW + timedelta(days=60))
    with pytest.raises(AssigneeNotEmployedError):
        assign(STARTS_LATER, due_at=NOW + timedelta(days=60))


A, B, C = "OPS-1", "OPS-2", "OPS-3"


def link(kind: LinkKind, from_key: str, to_key: str, *present: Link) -> None:
    blocks = [other for other in present if other.kind is LinkKind.BLOCKS]
    check_may_link(kind, from_key, to_key, present=present, blocks=blocks)


@pytest.mark.parametrize("kind", LinkKind)
def test_a_ticket_cannot_be_linked_to_itself(kind: LinkKind) -> None:
    with pytest.raises(LinkToItselfError):
        link(kind, A, A)


@pytest.mark.parametrize("kind", LinkKind)
def test_the_same_link_cannot_be_created_twice(kind: LinkKind) -> None:
    with pytest.raises(LinkExistsError):
        link(kind, A, B, a_link(kind, A, B))


def test_relates_to_has_no_direction() -> None:
    with pytest.raises(LinkExistsError):
        link(LinkKind.RELATES_TO, A, B, a_link(LinkKind.RELATES_TO, B, A))


def test_duplicates_has_a_direction() -> None:
    link(LinkKind.DUPLICATES, A, B, a_link(LinkKind.DUPLICATES, B, A))


def test_tickets_may_be_linked_in_several_ways() -> None:
    link(LinkKind.RELATES_TO, A, B, a_link(LinkKind.BLOCKS, A, B))


def test_two_tickets_cannot_block_each_other() -> None:
    with pytest.raises(CircularLinkError):
        link(LinkKind.BLOCKS, A, B, a_link(LinkKind.BLOCKS, B, A))


def test_a_cycle_of_three_is_rejected() -> None:
    with pytest.raises(CircularLinkError):
        link(LinkKind.BLOCKS, A, B, a_link(LinkKind.BLOCKS, B, C), a_link(LinkKind.BLOCKS, C, A))


def test_the_search_for_cycles_ends_although_there_is_one() -> None:
    link(LinkKind.BLOCKS, A, B, a_link(LinkKind.BLOCKS, B, C), a_link(LinkKind.BLOCKS, C, B))


def test_a_chain_is_not_a_cycle() -> None:
    link(LinkKind.BLOCKS, A, B, a_link(LinkKind.BLOCKS, B, C))
    link(LinkKind.BLOCKS, A, C, a_link(LinkKind.BLOCKS, A, B), a_link(LinkKind.BLOCKS, B, C))


@pytest.mark.parametrize(
    ("kind", "forward", "backward"),
    [
        (LinkKind.BLOCKS, Relation.BLOCKS, Relation.IS_BLOCKED_BY),
        (LinkKind.DUPLICATES, Relation.DUPLICATES, Relation.IS_DUPLICATED_BY),
        (LinkKind.RELATES_TO, Relation.RELATES_TO, Relation.RELATES_TO),
    ],
)
def test_a_link_can_be_read_from_either_end(kind: LinkKind, forward: Relation, backward: Relation) -> None:
    made = a_link(kind, A, B)
    assert (made.relation(A), made.other(A)) == (forward, B)
    assert (made.relation(B), made.other(B)) == (backward, A)


def test_a_justification_is_measured_without_surrounding_white_space() -> None:
    check_justification("x" * SHORTEST_JUSTIFICATION_CHARS)
    with pytest.raises(JustificationTooShortError):
        check_justification("  " + "x" * (SHORTEST_JUSTIFICATION_CHARS - 1) + "  ")
