"""Service functions of data issues."""

from __future__ import annotations

from sqlalchemy import exists, insert, or_, select

from companyos_datahub.issues.rules import check_reason, check_subject
from companyos_datahub.issues.schemas import DataIssue, DataIssueReport
from companyos_datahub.tables import data_issues, metrics, policies, records, sources, vendors
from companyos_shared.framework import Call


def report_data_issue(call: Call, body: DataIssueReport) -> DataIssue:
    """Store a data issue."""
    check_subject(body.subject, is_known=_is_known(call, body.subject))
    check_reason(body.reason_code, body.reason_ref)
    issue = DataIssue(
        id=f"DI-{call.next_number('data_issues')}",
        reported_by=call.person,
        reported_at=call.now,
        **body.model_dump(),
    )
    call.db.execute(insert(data_issues), issue.model_dump())
    return issue


def _is_known(call: Call, subject: str) -> bool:
    if call.company.person(subject) is not None:
        return True
    places = [table.c.id for table in (metrics, sources, records, vendors, policies)]
    named = [exists().where(column == subject) for column in (*places, policies.c.policy_id)]
    return bool(call.db.execute(select(or_(*named))).scalar_one())
