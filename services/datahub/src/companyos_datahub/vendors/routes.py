"""Routes of vendors; `search_records` finds vendors by name."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_datahub.vendors import service
from companyos_datahub.vendors.rules import (
    InvalidCertificatePeriodError,
    NothingToUpdateError,
    VendorNotFoundError,
    VendorStatusNotAllowedError,
)
from companyos_datahub.vendors.schemas import VendorDetail, VendorUpdate
from companyos_shared.framework import CallDep, IfMatch, StaleVersionError, error_responses

router = APIRouter(tags=["vendors"])


@router.get("/vendors/{vendor_id}", operation_id="get_vendor", responses=error_responses(VendorNotFoundError))
async def get_vendor(vendor_id: str, call: CallDep) -> VendorDetail:
    """Show a vendor: risk, bank details and changes, certificates."""
    return service.get_vendor(call, vendor_id)


@router.patch(
    "/vendors/{vendor_id}",
    operation_id="update_vendor",
    responses=error_responses(
        VendorNotFoundError,
        VendorStatusNotAllowedError,
        StaleVersionError,
        NothingToUpdateError,
        InvalidCertificatePeriodError,
    ),
)
async def update_vendor(vendor_id: str, body: VendorUpdate, call: CallDep, if_match: IfMatch = None) -> VendorDetail:
    """Change a vendor; omitted values stay.

    The vendor's history records changes of the bank details.
    """
    return service.update_vendor(call, vendor_id, body, if_match=if_match)
