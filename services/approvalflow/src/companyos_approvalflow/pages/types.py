"""Pages of approval types, and of the submission of a request of a type."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types import service
from companyos_approvalflow.pages.app import PAGES, colleagues
from companyos_approvalflow.pages.fields import specs_of
from companyos_shared.framework import PageCursor, PageView, page_params


@PAGES.page("/types")
def show_types(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types."""
    call = view.call
    types = service.list_types(call, page_params(cursor))
    details = [service.require_type(call, row.key) for row in types.items]
    return view.page("types.html", found=types, details=details, cursor=cursor)


@PAGES.page("/types/{type_key}")
def show_type(view: PageView, type_key: str) -> HTMLResponse:
    """Show an approval type."""
    shown = service.require_type(view.call, type_key)
    return view.page("type.html", type=shown, specs=specs_of(shown))


@PAGES.page("/submit")
def show_choice(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types to choose from."""
    call = view.call
    types = service.list_types(call, page_params(cursor))
    details = [service.require_type(call, row.key) for row in types.items]
    return view.page("choice.html", found=types, details=details, cursor=cursor)


@PAGES.page("/submit/{type_key}")
def show_form(view: PageView, type_key: str) -> HTMLResponse:
    """Show the form of a request of that type."""
    approval_type = service.require_type(view.call, type_key)
    return view.page(
        "submit.html",
        type=approval_type,
        fields=specs_of(approval_type),
        people=colleagues(view.call),
    )
