"""Routes that link tickets and remove links."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, status

from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    OperationRouter,
    error_responses,
)
from companyos_ticketdesk.links import service
from companyos_ticketdesk.links.rules import (
    CircularLinkError,
    JustificationTooShortError,
    LinkExistsError,
    LinkNotFoundError,
    LinkToItselfError,
)
from companyos_ticketdesk.links.schemas import LinkRemoval, LinkView, NewLink, RemovedLinkView
from companyos_ticketdesk.tickets.rules import LIVE_TICKET_ERRORS
from companyos_ticketdesk.tickets.schemas import TicketKey

router = OperationRouter(tags=["links"])


@router.post(
    "/tickets/{key}/links",
    operation_id="link_tickets",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(
        *LIVE_TICKET_ERRORS, LinkToItselfError, LinkExistsError, CircularLinkError, IdempotencyKeyReusedError
    ),
)
async def link_tickets(
    key: TicketKey,
    body: NewLink,
    call: CallDep,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> LinkView:
    """Link a triaged ticket to another triaged one that it blocks, duplicates or relates to.

    While a ticket that is not resolved, closed or cancelled blocks it, a ticket cannot be resolved, closed or leave
    `blocked`.
    """
    return LinkView.model_validate(service.link_tickets(call, key, body, if_match=if_match))


@router.post(
    "/tickets/{key}/links/{link_id}/removal",
    operation_id="unlink_tickets",
    responses=error_responses(*LIVE_TICKET_ERRORS, LinkNotFoundError, JustificationTooShortError),
)
async def unlink_tickets(
    key: TicketKey,
    link_id: Annotated[str, Path(max_length=64, examples=["link-12"], description="ID of the link.")],
    removal: LinkRemoval,
    call: CallDep,
    if_match: IfMatch = None,
) -> RemovedLinkView:
    """Remove a link from a triaged ticket; the histories of both tickets keep it with the justification.

    `key` may be either of the two tickets.
    """
    return service.unlink_tickets(call, key, link_id, removal=removal, if_match=if_match)
