"""Routes of notes."""

from __future__ import annotations

from companyos_approvalflow.notes import service
from companyos_approvalflow.notes.schemas import NewNote, Note
from companyos_approvalflow.notes.service import NoteBlankError
from companyos_approvalflow.requests.rules import RequestNotFoundError
from companyos_approvalflow.requests.schemas import RequestId
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    OperationRouter,
    StaleVersionError,
    error_responses,
)

router = OperationRouter(tags=["notes"])


@router.post(
    "/approvals/{request_id}/notes",
    operation_id="add_approval_note",
    status_code=201,
    responses=error_responses(RequestNotFoundError, StaleVersionError, NoteBlankError, IdempotencyKeyReusedError),
)
async def add_approval_note(
    request_id: RequestId,
    note: NewNote,
    call: CallDep,
    idempotency_key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Note:
    """Add a note to a request.

    Notes can be added in any status. They are permanent and do not change the request's version. A note does not answer
    an approver's question; use `provide_information` for that.
    """
    return service.add_note(call, request_id, note.body, if_match)
