"""Rules of vendors: status transitions and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from companyos_datahub.vendors.schemas import MOVES, VendorStatus, VendorUpdate
from companyos_shared.framework import ServiceError


class VendorNotFoundError(ServiceError):
    status, code, title = 404, "vendor-not-found", "Vendor not found"


class VendorStatusNotAllowedError(ServiceError):
    status, code, title = 409, "vendor-status-not-allowed", "Transition not allowed"


class NothingToUpdateError(ServiceError):
    status, code, title = 422, "nothing-to-update", "Nothing to update"


class InvalidCertificatePeriodError(ServiceError):
    status, code, title = 422, "certificate-period", "Certificate expires before it is issued"


def is_expired(expires_on: date, day: date) -> bool:
    """Return whether a certificate has expired; it is valid on its last day."""
    return day > expires_on


def check_may_become(vendor_id: str, current: VendorStatus, status: VendorStatus) -> None:
    """Raise VendorStatusNotAllowedError (409) for a transition that is not in the table."""
    if status is not current and status not in MOVES[current]:
        allowed = ", ".join(status for status in VendorStatus if status in MOVES[current])
        raise VendorStatusNotAllowedError(f"{vendor_id} cannot change from {current} to {status}; allowed: {allowed}")


def check_changes(changes: Mapping[str, object]) -> None:
    """Raise NothingToUpdateError (422) for an update without changes."""
    if not changes:
        raise NothingToUpdateError(f"at least one of {', '.join(VendorUpdate.model_fields)} is required")


def check_certificate(issued_on: date, expires_on: date) -> None:
    """Raise InvalidCertificatePeriodError (422) if a certificate expires before it was issued."""
    if expires_on < issued_on:
        raise InvalidCertificatePeriodError(f"expires_on must not be before issued_on ({issued_on}); got {expires_on}")
