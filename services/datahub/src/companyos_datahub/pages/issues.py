"""Page to report data issues."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub.issues.schemas import IssueKind, ReasonCode
from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.reading import own_issues, place_of
from companyos_shared.framework import PageCursor, PageText, PageView, page_params


@PAGES.page("/report")
def show_report(view: PageView, subject: PageText = "", cursor: PageCursor = None) -> HTMLResponse:
    """Show the form of a report, and the caller's earlier reports."""
    call = view.call
    found = own_issues(call, page_params(cursor))
    return view.page(
        "report.html",
        subject=subject,
        found=found,
        places={issue.subject: place_of(call, issue.subject) for issue in found.items},
        cursor=cursor,
        kinds=list(IssueKind),
        reasons=list(ReasonCode),
    )
