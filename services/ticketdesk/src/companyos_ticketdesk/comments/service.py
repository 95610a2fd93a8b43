"""Writes and lists comments on tickets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select

from companyos_shared.framework import Call, Page, PageParams, ServiceError, check_version, paginate
from companyos_ticketdesk.answers import schedule_answers
from companyos_ticketdesk.comments.schemas import CommentView, PlannedComment
from companyos_ticketdesk.tables import comments, transitions
from companyos_ticketdesk.tickets.service import load_ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A row of the table `comments`."""

    id: str
    ticket_key: str
    author_id: str
    created_at: datetime
    body: str


_INSERT = insert(comments)


def comment_of(row: Row[Any]) -> Comment:
    """Return the comment of a row."""
    return Comment(**row._mapping)


class CommentBlankError(ServiceError):
    status, code, title = 422, "comment-blank", "Comment is blank"


def check_body(body: str) -> None:
    """Raise CommentBlankError (422) for a comment of whitespace."""
    if not body.strip():
        raise CommentBlankError("body must not be blank")


def add_comment(call: Call, key: str, body: str, *, if_match: int | None) -> Comment:
    """Add a comment of the caller to a ticket of any status."""
    check_version(if_match, load_ticket(call, key).version)
    check_body(body)
    comment = Comment(
        id=f"comment-{call.next_number('comments')}",
        ticket_key=key,
        author_id=call.person,
        created_at=call.now,
        body=body,
    )
    columns = {name: getattr(comment, name) for name in Comment.__dataclass_fields__}
    call.db.execute(_INSERT, columns)
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
        build=lambda row: CommentView.model_validate(comment_of(row)),
    )


def apply_comment(call: Call, payload: dict[str, Any]) -> None:
    """Insert a colleague's scheduled comment, unless the transition that it is about was not made."""
    planned = PlannedComment.model_validate(payload)
    if planned.after_transition is not None:
        made = select(transitions.c.id).where(transitions.c.id == planned.after_transition)
        if call.db.execute(made).one_or_none() is None:
            return
    call.db.execute(_INSERT, planned.model_dump(exclude={"after_transition"}) | {"created_at": call.now})
