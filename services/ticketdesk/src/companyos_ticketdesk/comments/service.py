"""Writes and lists comments on tickets."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select

from companyos_shared.framework import Call, Page, PageParams, ServiceError, check_version, paginate
from companyos_ticketdesk.answers import schedule_answers
from companyos_ticketdesk.comments.schemas import CommentView, PlannedComment
from companyos_ticketdesk.tables import comments, transitions
from companyos_ticketdesk.tickets.service import load_ticket

_INSERT = insert(comments)


class CommentBlankError(ServiceError):
    status, code, title = 422, "comment-blank", "Comment is blank"


def check_body(body: str) -> None:
    """Raise CommentBlankError (422) for a comment of whitespace."""
    if not body.strip():
        raise CommentBlankError("body must not be blank")


def add_comment(call: Call, key: str, body: str, *, if_match: int | None) -> CommentView:
    """Add a comment of the caller to a ticket of any status."""
    check_version(if_match, load_ticket(call, key).version)
    check_body(body)
    comment = CommentView(
        id=f"comment-{call.next_number('comments')}", author_id=call.person, created_at=call.now, body=body
    )
    call.db.execute(_INSERT, comment.model_dump() | {"ticket_key": key})
    schedule_answers(call, key, body)
    return comment


def list_comments(call: Call, key: str, page: PageParams) -> Page[CommentView]:
    """Return a ticket's comments, oldest first."""
    load_ticket(call, key)
    return paginate(
        call,
        select(comments).where(comments.c.ticket_key == key),
        page,
        order_by=(comments.c.created_at, comments.c.id),
        build=CommentView.model_validate,
    )


def apply_comment(call: Call, payload: dict[str, Any]) -> None:
    """Insert a colleague's scheduled comment, unless the transition that it is about was not made."""
    planned = PlannedComment.model_validate(payload)
    if planned.after_transition is not None:
        made = select(transitions.c.id).where(transitions.c.id == planned.after_transition)
        if call.db.execute(made).one_or_none() is None:
            return
    call.db.execute(_INSERT, planned.model_dump(exclude={"after_transition"}) | {"created_at": call.now})
