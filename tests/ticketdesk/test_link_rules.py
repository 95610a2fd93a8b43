"""Rules of links."""

from __future__ import annotations

import pytest

from companyos_ticketdesk.links.model import Link, LinkKind, Relation
from companyos_ticketdesk.links.rules import (
    SHORTEST_JUSTIFICATION_CHARS,
    CircularLinkError,
    JustificationTooShortError,
    LinkExistsError,
    LinkNotFoundError,
    LinkToItselfError,
    check_justification,
    check_may_link,
    check_touches,
)
from tests.ticketdesk.builders import a_link

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


def test_a_link_is_found_only_at_its_two_ends() -> None:
    made = a_link(LinkKind.BLOCKS, A, B)
    assert check_touches(made, A, "link-1") is made
    assert check_touches(made, B, "link-1") is made
    for missing in (made, None):
        with pytest.raises(LinkNotFoundError):
            check_touches(missing, C, "link-1")


def test_a_justification_is_measured_without_surrounding_white_space() -> None:
    check_justification("x" * SHORTEST_JUSTIFICATION_CHARS)
    with pytest.raises(JustificationTooShortError):
        check_justification("  " + "x" * (SHORTEST_JUSTIFICATION_CHARS - 1) + "  ")
