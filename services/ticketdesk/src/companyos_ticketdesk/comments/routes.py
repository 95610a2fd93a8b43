"""Routes that add and list comments."""

from __future__ import annotations

from fastapi import APIRouter, status

from companyos_shared.chassis import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReused,
    IfMatch,
    InvalidCursor,
    Page,
    PageQuery,
    StaleVersion,
    problems,
)
from companyos_ticketdesk.comments import service
from companyos_ticketdesk.comments.schemas import CommentView, NewComment
from companyos_ticketdesk.comments.service import CommentBlank
from companyos_ticketdesk.tickets.rules import TicketNotFound
from companyos_ticketdesk.tickets.schemas import TicketKey

router = APIRouter(tags=["comments"])


@router.post(
    "/tickets/{key}/comments",
    operation_id="add_comment",
    status_code=status.HTTP_201_CREATED,
    responses=problems(TicketNotFound, CommentBlank, StaleVersion, IdempotencyKeyReused),
)
async def add_comment(
    key: TicketKey,
    comment: NewComment,
    call: CallDep,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> CommentView:
    """Add a comment to a ticket.

    Any ticket accepts comments, in any status. A comment does not change the ticket's version.
    """
    return CommentView.model_validate(service.add_comment(call, key, comment.body, if_match=if_match))


@router.get("/tickets/{key}/comments", operation_id="list_comments", responses=problems(TicketNotFound, InvalidCursor))
async def list_comments(key: TicketKey, call: CallDep, page: PageQuery) -> Page[CommentView]:
    """List the comments on a ticket, oldest first."""
    return service.list_comments(call, key, page)
