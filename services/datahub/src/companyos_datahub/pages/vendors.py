"""Pages of vendors."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub import tables
from companyos_datahub.metrics.service import list_metrics
from companyos_datahub.pages.app import PAGES, readings_of, sources_of
from companyos_datahub.records.model import FoundKind
from companyos_datahub.records.schemas import RecordFilter
from companyos_datahub.records.service import search_records
from companyos_datahub.vendors import service
from companyos_datahub.vendors.schemas import RiskTier, VendorStatus
from companyos_shared.framework import PageCursor, PageText, PageView, list_edits, page_params

_EDITED = {
    "name": ("Name", "text"),
    "category": ("Category", "text"),
    "status": ("Status", "choice"),
    "risk_tier": ("Risk", "choice"),
    "contact_name": ("Contact", "text"),
    "contact_email": ("Contact email", "text"),
    "bank_iban": ("IBAN", "text"),
    "notes": ("Notes", "text"),
}


@PAGES.page("/vendors")
def show_vendors(view: PageView, q: PageText = "", status: PageText = "", cursor: PageCursor = None) -> HTMLResponse:
    """Show the vendors that contain any of the words."""
    call = view.call
    filters = RecordFilter(query=q.strip() or None, kind=FoundKind.VENDOR, state=status or None)
    found = search_records(call, page_params(cursor), filters)
    return view.page(
        "vendors.html",
        found=found,
        details=[service.get_vendor(call, row.id) for row in found.items],
        q=q.strip(),
        status=status,
        cursor=cursor,
        statuses=list(VendorStatus),
    )


@PAGES.page("/vendors/{vendor_id}")
def show_vendor(view: PageView, vendor_id: str, cursor: PageCursor = None) -> HTMLResponse:
    """Show a vendor and its metrics."""
    call = view.call
    vendor = service.get_vendor(call, vendor_id)
    measured = list_metrics(call, page_params(cursor), key=None, subject=vendor_id, source_id=None)
    return view.page(
        "vendor.html",
        vendor=vendor,
        measured=measured,
        readings=readings_of(call, measured.items),
        origins=sources_of(call, measured.items),
        cursor=cursor,
        edits=list_edits(view, tables.vendors, vendor.id, _EDITED),
        statuses=list(VendorStatus),
        tiers=list(RiskTier),
    )
