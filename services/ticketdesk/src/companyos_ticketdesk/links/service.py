"""Service functions of links."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, insert

from companyos_shared.framework import Call
from companyos_ticketdesk.links.model import Link, find_link, list_blocks, list_links
from companyos_ticketdesk.links.rules import check_justification, check_may_link, check_touches
from companyos_ticketdesk.links.schemas import LinkedTicket, LinkRemoval, NewLink, RemovedLinkView
from companyos_ticketdesk.tables import links, removed_links
from companyos_ticketdesk.tickets.model import Status
from companyos_ticketdesk.tickets.rules import check_is_triaged
from companyos_ticketdesk.tickets.service import load_live_ticket, load_ticket


def link_tickets(call: Call, key: str, body: NewLink, *, if_match: int | None) -> Link:
    """Link a live ticket to another triaged ticket."""
    load_live_ticket(call, key, if_match)
    check_is_triaged(load_ticket(call, body.to_key))
    present = [link for link, _ in list_links(call.db, key)]
    check_may_link(body.kind, key, body.to_key, present=present, blocks=list_blocks(call.db))
    link = Link(
        id=f"link-{call.next_number('links')}",
        kind=body.kind,
        from_key=key,
        to_key=body.to_key,
        created_at=call.now,
        created_by=call.person,
    )
    call.db.execute(insert(links), _columns(link))
    return link


def unlink_tickets(
    call: Call, key: str, link_id: str, *, removal: LinkRemoval, if_match: int | None
) -> RemovedLinkView:
    """Remove a link of a live ticket and store the justification."""
    load_live_ticket(call, key, if_match)
    link = check_touches(find_link(call.db, link_id), key, link_id)
    check_justification(removal.justification)
    removed = RemovedLinkView(
        id=link.id,
        kind=link.kind,
        from_key=link.from_key,
        to_key=link.to_key,
        removed_at=call.now,
        removed_by=call.person,
        justification=removal.justification.strip(),
    )
    call.db.execute(delete(links).where(links.c.id == link.id))
    call.db.execute(insert(removed_links), removed.model_dump())
    return removed


def view_links(key: str, found: Iterable[tuple[Link, Status | None]]) -> list[LinkedTicket]:
    """Return the response schemas of a ticket's links, each with the status of the other ticket."""
    return [
        LinkedTicket(id=link.id, relation=link.relation(key), key=link.other(key), status=status)
        for link, status in found
    ]


def _columns(link: Link) -> dict[str, object]:
    return {name: getattr(link, name) for name in Link.__dataclass_fields__}
