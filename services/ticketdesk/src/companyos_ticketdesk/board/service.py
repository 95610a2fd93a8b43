"""Service functions of ticket lists, search and details."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select

from companyos_shared.framework import (
    Call,
    Page,
    PageParams,
    Searchable,
    candidates,
    paginate,
    paginate_sequence,
    search,
)
from companyos_ticketdesk.board.model import TicketFilter, select_tickets
from companyos_ticketdesk.board.schemas import TicketDetail, TicketRow
from companyos_ticketdesk.checklist.service import list_items
from companyos_ticketdesk.links.model import list_links, unsettled_blockers
from companyos_ticketdesk.links.service import view_links
from companyos_ticketdesk.tables import tickets
from companyos_ticketdesk.tickets.service import load_ticket, ticket_fields
from companyos_ticketdesk.workflow.rules import allowed_moves


def list_tickets(call: Call, filters: TicketFilter, page: PageParams) -> Page[TicketRow]:
    """Return the tickets that match all filters, newest first."""
    newest_first = (tickets.c.created_at, tickets.c.key)
    return paginate(
        call, select_tickets(filters), page, order_by=newest_first, build=TicketRow.model_validate, descending=True
    )


def search_tickets(call: Call, query: str, page: PageParams) -> Page[TicketRow]:
    """Return the tickets that contain any of the words, best match first, then by key."""
    rows = call.db.execute(select(tickets).where(candidates(call, tickets, query)).order_by(tickets.c.key)).all()
    return paginate_sequence(search(rows, query, _searchable), page, build=TicketRow.model_validate)


def show_ticket(call: Call, key: str) -> TicketDetail:
    """Return a ticket with its checklist, links and allowed transitions."""
    ticket = load_ticket(call, key)
    links = list_links(call.db, key)
    return TicketDetail(
        **ticket_fields(ticket, call.now),
        checklist=list_items(call, key),
        links=view_links(key, links),
        allowed_transitions=allowed_moves(ticket, blockers=unsettled_blockers(key, links)),
    )


def _searchable(row: Row[Any]) -> Searchable:
    return Searchable(row.key, row.title, f"{' '.join(row.tags)} {row.description}")
