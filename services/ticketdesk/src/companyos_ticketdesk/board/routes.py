"""Routes that list, search and show tickets."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from companyos_shared.framework import (
    CallDep,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    QueryBlankError,
    error_responses,
)
from companyos_ticketdesk.board import service
from companyos_ticketdesk.board.model import PriorityFilter, StatusFilter, TicketFilter
from companyos_ticketdesk.board.schemas import TicketDetail, TicketRow
from companyos_ticketdesk.tickets.model import TicketType
from companyos_ticketdesk.tickets.rules import TicketNotFoundError
from companyos_ticketdesk.tickets.schemas import TAG_CHARS, TicketKey

router = OperationRouter(tags=["board"])

QUERY_CHARS = 200


@router.get("/tickets", operation_id="list_tickets", responses=error_responses(InvalidCursorError))
async def list_tickets(
    call: CallDep,
    page: PageQuery,
    status: Annotated[StatusFilter | None, Query(description="Status; none: untriaged.")] = None,
    priority: Annotated[PriorityFilter | None, Query(description="Priority; none: not set.")] = None,
    type: Annotated[TicketType | None, Query(description="Kind of work.")] = None,
    team_id: Annotated[str | None, Query(max_length=64, description="ID of the team.")] = None,
    assignee_id: Annotated[str | None, Query(max_length=64, description="ID of a person; none: unassigned.")] = None,
    tag: Annotated[str | None, Query(max_length=TAG_CHARS, description="One of the ticket's tags.")] = None,
) -> Page[TicketRow]:
    """List tickets that match all filters, newest first."""
    filters = TicketFilter(
        status=status, priority=priority, type=type, team_id=team_id, assignee_id=assignee_id, tag=tag
    )
    return service.list_tickets(call, filters, page)


@router.get(
    "/tickets/search", operation_id="search_tickets", responses=error_responses(QueryBlankError, InvalidCursorError)
)
async def search_tickets(
    query: Annotated[
        str, Query(max_length=QUERY_CHARS, examples=["badge reader"], description="Words or beginnings of words.")
    ],
    call: CallDep,
    page: PageQuery,
) -> Page[TicketRow]:
    """Search tickets by words in key, title, tags and description, best match first.

    A word matches whole words and their beginnings. Tickets that contain more of the words come first, then tickets
    that contain them in key or title.
    """
    return service.search_tickets(call, query, page)


@router.get("/tickets/{key}", operation_id="get_ticket", responses=error_responses(TicketNotFoundError))
async def get_ticket(key: TicketKey, call: CallDep) -> TicketDetail:
    """Show a ticket with its checklist, links and allowed transitions."""
    return service.show_ticket(call, key)
