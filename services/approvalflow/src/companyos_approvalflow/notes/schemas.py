"""Schemas of notes."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import RequestModel, ResponseModel, example

LONGEST_BODY = 1000


class NewNote(RequestModel):
    """A note to write."""

    model_config = example(body="The certificate is renewed.")

    body: str = Field(min_length=1, max_length=LONGEST_BODY, description="Text of the note.")


class Note(ResponseModel):
    """A note on a request."""

    id: str
    author_id: str
    at: datetime
    body: str
