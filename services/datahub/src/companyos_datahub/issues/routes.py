"""Route of data issues."""

from __future__ import annotations

from companyos_datahub.issues import service
from companyos_datahub.issues.rules import ReasonIncompleteError, UnknownSubjectError
from companyos_datahub.issues.schemas import DataIssue, DataIssueReport
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    OperationRouter,
    error_responses,
)

router = OperationRouter(tags=["data issues"])


@router.post(
    "/data-issues",
    operation_id="report_data_issue",
    status_code=201,
    responses=error_responses(UnknownSubjectError, ReasonIncompleteError, IdempotencyKeyReusedError),
)
async def report_data_issue(body: DataIssueReport, call: CallDep, _key: IdempotencyKey) -> DataIssue:
    """Report a problem with data; a report cannot be withdrawn."""
    return service.report_data_issue(call, body)
