"""Rules of links: creation and removal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.links.model import Link, LinkKind

SHORTEST_JUSTIFICATION_CHARS = 10


class LinkNotFoundError(ServiceError):
    status, code, title = 404, "link-not-found", "Link not found"


class LinkToItselfError(ServiceError):
    status, code, title = 422, "link-to-itself", "Link to itself"


class LinkExistsError(ServiceError):
    status, code, title = 409, "link-exists", "Link already exists"


class CircularLinkError(ServiceError):
    status, code, title = 409, "circular-link", "Circular blocking"


class JustificationTooShortError(ServiceError):
    status, code, title = 422, "justification-too-short", "Justification too short"


def check_may_link(
    kind: LinkKind, from_key: str, to_key: str, *, present: Sequence[Link], blocks: Sequence[Link]
) -> None:
    """Raise LinkToItselfError (422), LinkExistsError or CircularLinkError (409) if the link is not allowed.

    `present` contains the links of the first ticket, `blocks` all blocking links.
    """
    if from_key == to_key:
        raise LinkToItselfError(f"to_key must differ from the ticket's key; got {to_key}")
    if any(says_the_same(link, kind, from_key, to_key) for link in present):
        raise LinkExistsError(f"{from_key} {kind} {to_key} already exists")
    if kind is LinkKind.BLOCKS and is_reachable(from_key, start=to_key, blocks=blocks):
        raise CircularLinkError(f"{to_key} blocks {from_key}, directly or through others")


def says_the_same(link: Link, kind: LinkKind, from_key: str, to_key: str) -> bool:
    """Return whether a link already expresses this relation; `relates_to` has no direction."""
    if link.kind is not kind:
        return False
    forward = (link.from_key, link.to_key) == (from_key, to_key)
    return forward or (kind is LinkKind.RELATES_TO and (link.to_key, link.from_key) == (from_key, to_key))


def is_reachable(goal: str, *, start: str, blocks: Iterable[Link]) -> bool:
    """Return whether following blocking links from `start` leads to `goal`."""
    onward: dict[str, list[str]] = {}
    for link in blocks:
        onward.setdefault(link.from_key, []).append(link.to_key)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        key = waiting.pop()
        if key == goal:
            return True
        if key not in seen:
            seen.add(key)
            waiting.extend(onward.get(key, ()))
    return False


def check_touches(link: Link | None, key: str, link_id: str) -> Link:
    """Return the link; raises LinkNotFoundError (404) unless the ticket is one of its ends."""
    if link is None or not link.touches(key):
        raise LinkNotFoundError(f'{key} has no link "{link_id}"')
    return link


def check_justification(justification: str) -> None:
    """Raise JustificationTooShortError (422) if the trimmed justification is below the minimum length."""
    chars = len(justification.strip())
    if chars < SHORTEST_JUSTIFICATION_CHARS:
        raise JustificationTooShortError(
            f"justification must have at least {SHORTEST_JUSTIFICATION_CHARS} characters; got {chars}"
        )
