"""Page to report data issues."""

from __future__ import annotations

from fastapi.responses import HTMLResponse
from sqlalchemy import select

from companyos_datahub.issues.schemas import DataIssue, IssueKind
from companyos_datahub.pages.app import PAGES, place_of
from companyos_datahub.tables import data_issues
from companyos_shared.framework import Call, Page, PageCursor, PageParams, PageText, PageView, page_params, paginate
from companyos_shared.wire.company import ReasonCode


@PAGES.page("/report")
def show_report(view: PageView, subject: PageText = "", cursor: PageCursor = None) -> HTMLResponse:
    """Show the form of a report, and the caller's earlier reports."""
    call = view.call
    found = _own_issues(call, page_params(cursor))
    return view.page(
        "report.html",
        subject=subject,
        found=found,
        places={issue.subject: place_of(call, issue.subject) for issue in found.items},
        cursor=cursor,
        kinds=list(IssueKind),
        reasons=list(ReasonCode),
    )


def _own_issues(call: Call, page: PageParams) -> Page[DataIssue]:
    """Return the data issues that the caller has reported, newest first."""
    statement = select(data_issues).where(data_issues.c.reported_by == call.person)
    newest = [data_issues.c.reported_at, data_issues.c.id]
    return paginate(call, statement, page, order_by=newest, build=DataIssue.model_validate, descending=True)
