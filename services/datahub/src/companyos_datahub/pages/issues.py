"""Page to report data issues."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub.issues.schemas import IssueKind, ReasonCode
from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.reading import own_issues, place_of
from companyos_shared.chassis import PageCursor, PageText, Showing, rows_from


@PAGES.page("/report")
def show_report(showing: Showing, subject: PageText = "", cursor: PageCursor = None) -> HTMLResponse:
    """Show the form of a report, and the caller's earlier reports."""
    call = showing.call
    found = own_issues(call, rows_from(cursor))
    return showing.page(
        "report.html",
        subject=subject,
        found=found,
        places={issue.subject: place_of(call, issue.subject) for issue in found.items},
        cursor=cursor,
        kinds=list(IssueKind),
        reasons=list(ReasonCode),
    )
