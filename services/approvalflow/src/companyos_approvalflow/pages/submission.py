"""Pages to submit a request: choice of the type, then a form with its fields."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types.service import list_types, show_type
from companyos_approvalflow.pages.app import PAGES, colleagues
from companyos_approvalflow.pages.fields import specs_of
from companyos_shared.chassis import PageCursor, Showing, rows_from


@PAGES.page("/submit")
def show_choice(showing: Showing, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types to choose from."""
    call = showing.call
    types = list_types(call, rows_from(cursor))
    details = [show_type(call, row.key) for row in types.items]
    return showing.page("choice.html", found=types, details=details, cursor=cursor)


@PAGES.page("/submit/{type_key}")
def show_form(showing: Showing, type_key: str) -> HTMLResponse:
    """Show the form of a request of that type."""
    approval_type = show_type(showing.call, type_key)
    return showing.page(
        "submit.html",
        type=approval_type,
        fields=specs_of(approval_type),
        people=colleagues(showing.call),
    )
