"""Route of data issues."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_datahub.issues import service
from companyos_datahub.issues.rules import ReasonIncomplete, UnknownSubject
from companyos_datahub.issues.schemas import DataIssue, DataIssueReport
from companyos_shared.chassis import CallDep, IdempotencyKey, IdempotencyKeyReused, problems

router = APIRouter(tags=["data issues"])


@router.post(
    "/data-issues",
    operation_id="report_data_issue",
    status_code=201,
    responses=problems(UnknownSubject, ReasonIncomplete, IdempotencyKeyReused),
)
async def report_data_issue(body: DataIssueReport, call: CallDep, _key: IdempotencyKey) -> DataIssue:
    """Report wrong data."""
    return service.report_data_issue(call, body)
