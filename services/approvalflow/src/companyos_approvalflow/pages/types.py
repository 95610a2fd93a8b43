"""Pages of approval types with their fields, limits and roles."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types import service
from companyos_approvalflow.pages.app import PAGES
from companyos_approvalflow.pages.fields import specs_of
from companyos_shared.framework import PageCursor, PageView, page_params


@PAGES.page("/types")
def show_types(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types."""
    call = view.call
    types = service.list_types(call, page_params(cursor))
    details = [service.show_type(call, row.key) for row in types.items]
    return view.page("types.html", found=types, details=details, cursor=cursor)


@PAGES.page("/types/{type_key}")
def show_type(view: PageView, type_key: str) -> HTMLResponse:
    """Show an approval type."""
    shown = service.show_type(view.call, type_key)
    return view.page("type.html", type=shown, specs=specs_of(shown))
