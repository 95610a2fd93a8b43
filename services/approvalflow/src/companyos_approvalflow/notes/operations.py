"""What can be done with notes: write one."""

from __future__ import annotations

from companyos_approvalflow.notes import schemas
from companyos_approvalflow.notes.model import Note, insert_note
from companyos_approvalflow.notes.rules import check_says_something
from companyos_approvalflow.requests.operations import require_request
from companyos_shared.chassis import Call, check_version


def add_note(call: Call, request_id: str, body: str, if_match: int | None) -> schemas.Note:
    """Write a note beside a request, whatever its status."""
    request = require_request(call, request_id)
    check_version(if_match, request.version)
    check_says_something(body)
    number = call.next_number(f"{request.id}-N")
    note = Note(id=f"{request.id}-N{number}", request_id=request.id, author_id=call.person, at=call.now, body=body)
    insert_note(call.db, note)
    return schemas.Note.model_validate(note)
