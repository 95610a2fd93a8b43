"""When two tickets may be linked and when a link may be removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_shared.chassis import Problem
from companyos_ticketdesk.links.model import Link, LinkKind

SHORTEST_JUSTIFICATION_CHARS = 10


class LinkNotFound(Problem):
    status, code, title = 404, "link-not-found", "The ticket has no such link"


class LinkToItself(Problem):
    status, code, title = 422, "link-to-itself", "A ticket cannot be linked to itself"


class LinkExists(Problem):
    status, code, title = 409, "link-exists", "The tickets are linked in this way already"


class LinkCircle(Problem):
    status, code, title = 409, "link-circle", "The tickets would block each other"


class JustificationTooShort(Problem):
    status, code, title = 422, "justification-too-short", "The justification is too short"


def check_may_link(
    kind: LinkKind, from_key: str, to_key: str, *, present: Sequence[Link], blocks: Sequence[Link]
) -> None:
    """Raise LinkToItself (422), LinkExists or LinkCircle (409) unless the link says something new and possible.

    `present` are the links that touch the first ticket, `blocks` every blocking link there is.
    """
    if from_key == to_key:
        raise LinkToItself
    if any(says_the_same(link, kind, from_key, to_key) for link in present):
        raise LinkExists(f"{from_key} {kind} {to_key} is recorded.")
    if kind is LinkKind.BLOCKS and is_reachable(from_key, start=to_key, blocks=blocks):
        raise LinkCircle(f"{to_key} blocks {from_key}, directly or through others.")


def says_the_same(link: Link, kind: LinkKind, from_key: str, to_key: str) -> bool:
    """Return whether a link already states this; relating has no direction."""
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


def check_touches(link: Link | None, key: str) -> Link:
    """Return the link, or raise LinkNotFound (404) unless the ticket is one of its ends."""
    if link is None or not link.touches(key):
        raise LinkNotFound(f"No such link touches {key}.")
    return link


def check_justification(justification: str) -> None:
    """Raise JustificationTooShort (422) below the shortest length, outer white space not counted."""
    if len(justification.strip()) < SHORTEST_JUSTIFICATION_CHARS:
        raise JustificationTooShort(f"A justification has at least {SHORTEST_JUSTIFICATION_CHARS} characters.")
