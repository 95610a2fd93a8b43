"""Schemas of comments."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import RequestModel, ResponseModel, UtcTime, example

COMMENT_CHARS = 2000
_BODY = (
    "Text of the comment. Mention colleagues by ID, such as `@E-1042`, to ask them; they answer during office hours."
)


class NewComment(RequestModel):
    """A comment to add."""

    model_config = example(body="The part arrives on Thursday.")

    body: str = Field(min_length=1, max_length=COMMENT_CHARS, description=_BODY)


class CommentView(ResponseModel):
    """A comment on a ticket."""

    model_config = example(
        id="comment-31", author_id="p-omar", created_at="2026-03-02T09:15:00Z", body="The part arrives on Thursday."
    )

    id: str
    author_id: str
    created_at: datetime
    body: str


class _CommentRow(RequestModel):
    id: str
    ticket_key: str
    author_id: str
    body: str


class PlannedComment(_CommentRow):
    """A scheduled comment of a colleague."""

    after_transition: str | None = Field(
        None, description="ID of a scheduled transition; the comment is written only if that one was made."
    )


class AnswerSeed(RequestModel):
    """The answer of a person who is mentioned in a comment under a ticket."""

    id: str
    person_id: str
    ticket_key: str
    body: str


class CommentSeed(_CommentRow):
    """A comment in a seed."""

    created_at: UtcTime
