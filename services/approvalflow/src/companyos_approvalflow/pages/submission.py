"""Pages to submit a request: choice of the type, then a form with its fields."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types.service import list_types, show_type
from companyos_approvalflow.pages.app import PAGES, colleagues
from companyos_approvalflow.pages.fields import specs_of
from companyos_shared.framework import PageCursor, PageView, page_params


@PAGES.page("/submit")
def show_choice(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types to choose from."""
    call = view.call
    types = list_types(call, page_params(cursor))
    details = [show_type(call, row.key) for row in types.items]
    return view.page("choice.html", found=types, details=details, cursor=cursor)


@PAGES.page("/submit/{type_key}")
def show_form(view: PageView, type_key: str) -> HTMLResponse:
    """Show the form of a request of that type."""
    approval_type = show_type(view.call, type_key)
    return view.page(
        "submit.html",
        type=approval_type,
        fields=specs_of(approval_type),
        people=colleagues(view.call),
    )
