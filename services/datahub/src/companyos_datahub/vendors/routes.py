"""Routes of vendors; `search_records` finds vendors by name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from companyos_datahub.vendors import service
from companyos_datahub.vendors.rules import (
    InvalidCertificatePeriodError,
    NothingToUpdateError,
    VendorNotFoundError,
    VendorStatusNotAllowedError,
)
from companyos_datahub.vendors.schemas import VendorDetail, VendorUpdate
from companyos_shared.framework import CallDep, IfMatch, OperationRouter, StaleVersionError, error_responses

router = OperationRouter(tags=["vendors"])

VendorId = Annotated[str, Path(description="ID of the vendor.")]


@router.get("/vendors/{vendor_id}", operation_id="get_vendor", responses=error_responses(VendorNotFoundError))
async def get_vendor(vendor_id: VendorId, call: CallDep) -> VendorDetail:
    """Show a vendor: status, risk, certificates, bank details and their latest changes."""
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
async def update_vendor(
    vendor_id: VendorId, body: VendorUpdate, call: CallDep, if_match: IfMatch = None
) -> VendorDetail:
    """Change a vendor; omitted values stay unchanged, an added certificate cannot be removed.

    The vendor's history records every change of the bank details. An active or suspended vendor cannot become a
    prospect again.
    """
    return service.update_vendor(call, vendor_id, body, if_match=if_match)
