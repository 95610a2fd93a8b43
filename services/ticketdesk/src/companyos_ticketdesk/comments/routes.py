"""Routes that add and list comments."""

from __future__ import annotations

from fastapi import status

from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    StaleVersionError,
    error_responses,
)
from companyos_ticketdesk.comments import service
from companyos_ticketdesk.comments.schemas import CommentView, NewComment
from companyos_ticketdesk.comments.service import CommentBlankError
from companyos_ticketdesk.tickets.rules import TicketNotFoundError
from companyos_ticketdesk.tickets.schemas import TicketKey

router = OperationRouter(tags=["comments"])


@router.post(
    "/tickets/{key}/comments",
    operation_id="add_comment",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(TicketNotFoundError, CommentBlankError, StaleVersionError, IdempotencyKeyReusedError),
)
async def add_comment(
    key: TicketKey,
    comment: NewComment,
    call: CallDep,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> CommentView:
    """Add a comment to a ticket of any status; it cannot be edited or deleted.

    People who are mentioned by ID answer under the ticket during office hours. A comment does not change the ticket's
    version.
    """
    return service.add_comment(call, key, comment.body, if_match=if_match)


@router.get(
    "/tickets/{key}/comments",
    operation_id="list_comments",
    responses=error_responses(TicketNotFoundError, InvalidCursorError),
)
async def list_comments(key: TicketKey, call: CallDep, page: PageQuery) -> Page[CommentView]:
    """List the comments on a ticket, oldest first."""
    return service.list_comments(call, key, page)
