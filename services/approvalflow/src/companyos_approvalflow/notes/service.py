"""Writes notes on approval requests."""

from __future__ import annotations

from companyos_approvalflow.notes import schemas
from companyos_approvalflow.notes.model import Note, insert_note
from companyos_approvalflow.requests.service import require_request
from companyos_shared.framework import Call, ServiceError, check_version


class NoteBlankError(ServiceError):
    status, code, title = 422, "note-blank", "Note is blank"


def check_says_something(body: str) -> None:
    """Raise NoteBlankError (422) for a note of whitespace."""
    if not body.strip():
        raise NoteBlankError("body must not be blank")


def add_note(call: Call, request_id: str, body: str, if_match: int | None) -> schemas.Note:
    """Add a note to a request of any status."""
    request = require_request(call, request_id)
    check_version(if_match, request.version)
    check_says_something(body)
    number = call.next_number(f"{request.id}-N")
    note = Note(id=f"{request.id}-N{number}", request_id=request.id, author_id=call.person, at=call.now, body=body)
    insert_note(call.db, note)
    return schemas.Note.model_validate(note)
