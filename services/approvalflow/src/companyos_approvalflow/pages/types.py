"""Pages of approval types with their fields, limits and roles."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types import service
from companyos_approvalflow.pages.app import PAGES
from companyos_approvalflow.pages.fields import specs_of
from companyos_shared.chassis import PageCursor, Showing, rows_from


@PAGES.page("/types")
def show_types(showing: Showing, cursor: PageCursor = None) -> HTMLResponse:
    """Show the approval types."""
    call = showing.call
    types = service.list_types(call, rows_from(cursor))
    details = [service.show_type(call, row.key) for row in types.items]
    return showing.page("types.html", found=types, details=details, cursor=cursor)


@PAGES.page("/types/{type_key}")
def show_type(showing: Showing, type_key: str) -> HTMLResponse:
    """Show an approval type."""
    shown = service.show_type(showing.call, type_key)
    return showing.page("type.html", type=shown, specs=specs_of(shown))
