"""When a certificate is expired, which moves a vendor may make, and what is refused about vendors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from companyos_datahub.vendors.schemas import MOVES, VendorStatus
from companyos_shared.chassis import Problem


class VendorNotFound(Problem):
    status, code, title = 404, "vendor-not-found", "There is no such vendor"


class VendorStatusNotAllowed(Problem):
    status, code, title = 409, "vendor-status-not-allowed", "The vendor cannot go from its status to that one"


class NothingToUpdate(Problem):
    status, code, title = 422, "nothing-to-update", "The update names nothing to change"


class CertificatePeriod(Problem):
    status, code, title = 422, "certificate-period", "The certificate would expire before it was issued"


def is_expired(expires_on: date, day: date) -> bool:
    """Return whether a certificate is expired; on its last day it still holds."""
    return day > expires_on


def check_may_become(current: VendorStatus, wanted: VendorStatus) -> None:
    """Raise VendorStatusNotAllowed where the table of moves does not lead from one status to the other."""
    if wanted is not current and wanted not in MOVES[current]:
        raise VendorStatusNotAllowed(f"A vendor that is {current} does not become {wanted}.")


def check_changes(changes: Mapping[str, object]) -> None:
    """Raise NothingToUpdate where no change is named."""
    if not changes:
        raise NothingToUpdate


def check_certificate(issued_on: date, expires_on: date) -> None:
    """Raise CertificatePeriod where a certificate expires before it was issued."""
    if expires_on < issued_on:
        raise CertificatePeriod(f"{expires_on} lies before {issued_on}.")
